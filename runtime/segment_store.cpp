#include "segment_store.hpp"

#include <fcntl.h>

#include <cstring>
#include <new>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/step.hpp"
#include "sluice/runtime/control_block.hpp"
#include "sluice/runtime/spill_file.hpp"

namespace sluice::runtime {

static_assert(sizeof(ControlSlot) == matcher::control_slot_bytes);
static_assert(control_block_bytes(0) == matcher::control_common_bytes);

void SegmentStore::create(matcher::SegmentId segment, std::uint64_t bytes) {
  last_made_ = segment;
  if (const auto range = cut_warm(bytes)) {
    entries_.emplace(segment, Entry{duplicate(warm_->file().number()), range->extent, true, range->is_warm});
    return;
  }
  const bool is_huge = has_huge_pages(bytes) && (warm_ == nullptr || !warm_->is_costly());
  entries_.emplace(segment, Entry{memory_file(bytes, is_huge), {bytes}, true, is_huge});
}

std::optional<WarmMemory::Range> SegmentStore::cut_warm(std::uint64_t bytes) {
  if (warm_ == nullptr || bytes < matcher::huge_page_bytes) return std::nullopt;
  return warm_->cut(bytes);
}

bool SegmentStore::has_huge_pages(std::uint64_t bytes) const noexcept {
  return huge_pages_.has_value() && bytes >= matcher::huge_page_bytes;
}

FileDescriptor SegmentStore::memory_file(std::uint64_t bytes, bool is_huge) const {
  return is_huge ? huge_pages_->create(bytes) : create_segment(bytes);
}

void SegmentStore::prewarm(std::uint64_t bytes) {
  if (bytes == 0 || warm_ != nullptr) return;
  warm_ = std::make_unique<WarmMemory>(memory_file(bytes, has_huge_pages(bytes)), bytes);
  warm_bytes_ = bytes;
}

void SegmentStore::drop_warm() noexcept {
  if (warm_ != nullptr) warm_->drop();
}

SegmentStore::WarmUse SegmentStore::warm_use() const noexcept {
  if (warm_ == nullptr) return {};
  return {warm_bytes_, warm_->used_bytes()};
}

bool SegmentStore::create_spilled(matcher::SegmentId segment, std::uint64_t bytes) {
  if (spill_directory_.empty())
    throw Error(NC_ENO_SPACE, "this node has no directory in which room can be reserved");
  entries_.emplace(segment, Entry{create_spill_file(spill_directory_, bytes), {bytes}});
  return true;
}

void SegmentStore::create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                                 const matcher::LogPlace& place) {
  FileDescriptor file = logs_.add(segment, place);
  entries_.emplace(segment, Entry{std::move(file), {bytes, place.offset_bytes, true}});
}

void SegmentStore::keep_log(matcher::SegmentId segment, bool is_kept) noexcept {
  logs_.keep(segment, is_kept);
}

void SegmentStore::adopt(matcher::SegmentId segment, const SegmentExtent& extent, FileDescriptor file,
                         bool has_cheap_faults) {
  entries_.emplace(segment, Entry{std::move(file), extent, false, has_cheap_faults});
}

void SegmentStore::note_failure(matcher::SegmentId segment) {
  entries_.insert_or_assign(segment, Entry{});
}

void SegmentStore::clear(matcher::SegmentId segment, matcher::SegmentUse use) {
  if (use == matcher::SegmentUse::data) return;
  const auto memory = mapped(segment);
  if (memory.empty()) return;
  std::memset(memory.data(), 0, use == matcher::SegmentUse::table ? sizeof(std::uint64_t) : memory.size());
}

bool SegmentStore::destroy(matcher::SegmentId segment) noexcept {
  const auto found = entries_.find(segment);
  if (found == entries_.end()) return true;
  // The pages, or the disk's blocks, go now, even if a process keeps its mapping for long: it hears of the
  // end with its next answer.
  if (found->second.extent.may_have_name) {
    logs_.release(segment);
  } else if (found->second.file && found->second.is_own) {
    ::fallocate(found->second.file.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(found->second.extent.offset_bytes),
                static_cast<off_t>(found->second.extent.bytes));
  }
  entries_.erase(found);
  destroyed_.push_back(segment);
  return true;
}

std::span<const std::byte> SegmentStore::contents(matcher::SegmentId segment) {
  return mapped(segment);
}

void SegmentStore::mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept {
  try {
    const auto memory = mapped(control);
    if (control_block_bytes(rank + 1) > memory.size()) return;
    auto* const slots = std::launder(reinterpret_cast<ControlSlot*>(memory.data()));
    slots[rank].is_gone.store(1, std::memory_order_release);
  } catch (const Error&) {
    // No address space: the others notice at their next message.
  }
}

void SegmentStore::set_awaited(matcher::SegmentId control, bool is_awaited) {
  const auto memory = mapped(control);
  if (memory.size() < sizeof(ControlSlot)) return;
  auto* const slots = std::launder(reinterpret_cast<ControlSlot*>(memory.data()));
  slots[0].is_awaited.store(is_awaited ? 1 : 0, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

int SegmentStore::descriptor(matcher::SegmentId segment) const {
  const Entry& entry = at(segment);
  if (!entry.file)
    throw Error(NC_ENO_SPACE, "the system has no memory for segment " + std::to_string(segment));
  return entry.file.number();
}

SegmentExtent SegmentStore::extent(matcher::SegmentId segment) const {
  return at(segment).extent;
}

std::vector<matcher::SegmentId> SegmentStore::take_destroyed() noexcept {
  return std::exchange(destroyed_, {});
}

const SegmentStore::Entry& SegmentStore::at(matcher::SegmentId segment) const {
  const auto found = entries_.find(segment);
  if (found == entries_.end()) throw Error(NC_EIO, "there is no segment " + std::to_string(segment));
  return found->second;
}

std::span<std::byte> SegmentStore::writable(matcher::SegmentId segment) {
  if (!contains(segment)) return {};
  return mapped(segment);
}

std::shared_ptr<const void> SegmentStore::keep_mapped(matcher::SegmentId segment) {
  (void)mapped(segment);
  return at(segment).mapping;
}

std::span<std::byte> SegmentStore::mapped(matcher::SegmentId segment) {
  auto& entry = const_cast<Entry&>(at(segment));
  if (entry.mapping == nullptr) {
    if (!entry.file) return {};
    entry.mapping = std::make_shared<Mapping>(entry.file, entry.extent, Mapping::Access::read_write);
  }
  return entry.mapping->writable();
}

}  // namespace sluice::runtime
