#include "segment_store.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/step.hpp"
#include "sluice/runtime/control_block.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/spill_file.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::runtime {

static_assert(control_block_bytes(1) == matcher::control_bytes(1));
static_assert(control_block_bytes(2) == matcher::control_bytes(2));

namespace {

/// Processes write larger segments through files, and writers of one file wait for each other.
constexpr std::uint64_t least_large_bytes = std::uint64_t{256} << 10;
constexpr std::uint32_t files_for_large = 16;
constexpr std::uint32_t files_on_disk = 4;
constexpr mode_t image_mode = 0644;  // of an ordinary file

FileDescriptor create_image_file() {
  FileDescriptor file(::memfd_create("sluice-image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::fchmod(file.number(), image_mode) != 0) {
    const int number = errno;
    throw IoError(number == EMFILE || number == ENFILE ? NC_ENFILE : NC_ENO_SPACE, number, "memory file",
                  "create");
  }
  return file;
}

}  // namespace

SegmentStore::SegmentStore(DiskWorker& disk, DiskEvents events)
    : small_({create_segment}),
      large_({.make = create_segment, .files = files_for_large}),
      huge_({[this](std::uint64_t bytes) { return huge_pages_->create(bytes); }}),
      on_disk_({[](std::uint64_t) { return FileDescriptor(); }}),
      disk_(disk),
      events_(std::move(events)),
      logs_([&disk](std::function<void()> work) { disk.submit(std::move(work)); },
            read_run_identity().number) {}

void SegmentStore::create(matcher::SegmentId segment, std::uint64_t bytes) {
  last_made_ = segment;
  if (auto range = cut_warm(bytes)) {
    if (warm_number_ == 0) warm_number_ = segment;
    range->extent.file = warm_number_;
    entries_.emplace(segment, Entry{warm_file_, range->extent, true, range->is_warm});
    return;
  }
  const bool is_huge = has_huge_pages(bytes) && (warm_ == nullptr || !warm_->is_costly());
  auto [file, extent] = ranges_for(bytes, is_huge).cut(segment, bytes);
  entries_.emplace(segment, Entry{std::move(file), extent, true, is_huge});
}

FileRanges& SegmentStore::ranges_for(std::uint64_t bytes, bool is_huge) noexcept {
  if (is_huge) return huge_;
  return bytes < least_large_bytes ? small_ : large_;
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
  warm_file_ = std::make_shared<MappedFile>(warm_->file());
  warm_bytes_ = bytes;
}

void SegmentStore::drop_all_warm() noexcept {
  if (warm_ != nullptr) warm_->drop();
}

SegmentStore::WarmUse SegmentStore::warm_use() const noexcept {
  if (warm_ == nullptr) return {};
  return {warm_bytes_, warm_->used_bytes()};
}

void SegmentStore::create_image(matcher::SegmentId segment, std::uint64_t bytes) {
  last_made_ = segment;
  auto file = std::make_shared<MappedFile>(create_image_file());
  entries_.emplace(segment, Entry{std::move(file), {bytes}, true, false, true});
}

bool SegmentStore::create_spilled(matcher::SegmentId segment, std::uint64_t bytes, matcher::DiskRoom room) {
  spill(segment, bytes, Own::range, room);
  return false;
}

void SegmentStore::replace_image(matcher::SegmentId segment, std::shared_ptr<const FileDescriptor> file,
                                 std::uint64_t bytes) {
  auto& entry = const_cast<Entry&>(at(segment));
  entry.mapping.reset();
  entry.extent.bytes = bytes;
  auto former = std::exchange(entry.file, std::make_shared<MappedFile>(std::move(file)));
  // The end of a file without a name frees its disk space.
  if (matcher::is_spilled(segment)) disk_.submit([former = std::move(former)] {});
}

bool SegmentStore::create_spilled_image(matcher::SegmentId segment, std::uint64_t bytes,
                                        matcher::DiskRoom room) {
  spill(segment, bytes, Own::file, room);
  return false;
}

void SegmentStore::spill(matcher::SegmentId segment, std::uint64_t bytes, Own own, matcher::DiskRoom room) {
  struct Result {
    std::optional<FileRanges::Range> range;
    std::string trouble;
  };
  const auto result = std::make_shared<Result>();  // shared by the two successive functions
  being_made_.insert(segment);
  // From now on only the thread uses on_disk_.
  const auto make = [this, segment, bytes, own, room, result] {
    try {
      if (spill_directory_.empty())
        throw Error(NC_ENO_SPACE, "this node has no directory in which space can be reserved");
      if (room == matcher::DiskRoom::beyond_reserve) keep_spill_reserve(spill_directory_, bytes);
      if (own == Own::file) {
        auto file = std::make_shared<MappedFile>(create_spill_file(spill_directory_, bytes));
        result->range = FileRanges::Range{std::move(file), {bytes}};
      } else {
        result->range = on_disk_.cut(segment, bytes);
      }
    } catch (const std::exception& error) {
      result->trouble = error.what();
    }
  };
  disk_.submit(make, [this, segment, own, result] {
    being_made_.erase(segment);
    if (result->range)
      entries_.emplace(segment, Entry{std::move(result->range->file), result->range->extent, true, false,
                                      own == Own::file});
    events_.made(segment, result->trouble);
  });
}

void SegmentStore::set_spill_directory(const std::string& directory, bool can_punch) {
  spill_directory_ = directory;
  FileRanges::Options options;
  options.make = [this](std::uint64_t) { return create_spill_file(spill_directory_, 0); };
  options.reserve = [this](const FileDescriptor& file, std::uint64_t offset, std::uint64_t bytes) {
    reserve_in_spill_file(file, spill_directory_, offset, bytes);
  };
  options.files = files_on_disk;
  if (!can_punch) options.file_bytes = 0;
  on_disk_ = FileRanges(std::move(options));
}

void SegmentStore::create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                                 const matcher::LogPlace& place) {
  entries_.emplace(segment, Entry{logs_.add(segment, place), {bytes, place.offset_bytes, true}});
}

void SegmentStore::keep_log(matcher::SegmentId segment, bool is_kept) noexcept {
  logs_.keep(segment, is_kept);
}

void SegmentStore::adopt(matcher::SegmentId segment, const SegmentExtent& extent, FileDescriptor file,
                         bool has_cheap_faults) {
  std::shared_ptr<MappedFile> known;
  if (const auto found = neighbours_files_.find(extent.file); found != neighbours_files_.end())
    known = found->second;
  if (known == nullptr) {
    if (!file) throw Error(NC_EIO, "another matcher named a file without sending it");
    known = std::make_shared<MappedFile>(extent.may_have_name ? log_file(file) : MappedFile(std::move(file)));
    if (extent.file != 0) neighbours_files_.emplace(extent.file, known);
  }
  entries_.emplace(segment, Entry{std::move(known), extent, false, has_cheap_faults});
}

void SegmentStore::note_failure(matcher::SegmentId segment) {
  entries_.insert_or_assign(segment, Entry{});
}

void SegmentStore::clear(matcher::SegmentId segment, matcher::SegmentUse use) {
  if (use == matcher::SegmentUse::data || use == matcher::SegmentUse::file) return;
  const auto memory = mapped(segment);
  if (memory.empty()) return;
  std::memset(memory.data(), 0, use == matcher::SegmentUse::table ? sizeof(std::uint64_t) : memory.size());
}

bool SegmentStore::destroy(matcher::SegmentId segment) noexcept {
  const auto found = entries_.find(segment);
  if (found == entries_.end()) return true;
  // Free the pages or disk blocks now, even if a process keeps its mapping for long. The process learns of
  // the end with its next answer.
  Entry entry = std::move(found->second);
  entries_.erase(found);
  destroyed_.push_back(segment);
  if (entry.extent.may_have_name) logs_.release(segment);
  if (!entry.file || !entry.is_own) return true;
  if (!matcher::is_spilled(segment)) {
    if (!entry.is_image) punch_hole(*entry.file->descriptor(), entry.extent.offset_bytes, entry.extent.bytes);
    return true;
  }
  // When the segment has a file of its own, the thread releases the file last.
  disk_.submit(
      [entry = std::make_shared<Entry>(std::move(entry))] {
        if (!entry->extent.may_have_name && !entry->is_image)
          punch_hole(*entry->file->descriptor(), entry->extent.offset_bytes, entry->extent.bytes);
      },
      [this, segment] { events_.gone(segment); });
  return false;
}

void SegmentStore::remove_logs(std::function<void()> done) {
  logs_.remove_all();
  disk_.submit([] {}, std::move(done));
}

std::span<const std::byte> SegmentStore::contents(matcher::SegmentId segment) {
  (void)mapped(segment);
  const std::shared_ptr<Mapping>& mapping = at(segment).mapping;
  if (mapping == nullptr) return {};
  if (!mapping->bytes().empty() && storage::is_cut(mapping->bytes().data()))
    throw Error(NC_EIO, "the file of segment " + std::to_string(segment) + " was cut by another program");
  return mapping->bytes();
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

std::shared_ptr<const FileDescriptor> SegmentStore::descriptor(matcher::SegmentId segment) const {
  return file_of(segment).descriptor();
}

MappedFile::Opener SegmentStore::opener(matcher::SegmentId segment) const {
  return file_of(segment).opener();
}

std::vector<MappedFile::Opener> SegmentStore::log_openers(
    std::span<const matcher::SegmentId> segments) const {
  std::vector<MappedFile::Opener> openers;
  for (const matcher::SegmentId segment : segments) {
    const auto found = entries_.find(segment);
    if (found == entries_.end()) continue;
    const Entry& entry = found->second;
    if (entry.extent.may_have_name && entry.file && entry.mapping == nullptr)
      openers.push_back(entry.file->opener());
  }
  return openers;
}

const MappedFile& SegmentStore::file_of(matcher::SegmentId segment) const {
  const Entry& entry = at(segment);
  if (!entry.file)
    throw Error(NC_ENO_SPACE, "the system has no memory for segment " + std::to_string(segment));
  return *entry.file;
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

/// Nobody can change a file that was published, be it of this matcher or of a neighbour.
std::shared_ptr<Mapping> SegmentStore::map(const Entry& entry) {
  const auto map_for = [&](Mapping::Access access) {
    return std::make_shared<Mapping>(entry.file->map(entry.extent, access));
  };
  if (entry.is_image) return map_for(Mapping::Access::read);
  try {
    return map_for(Mapping::Access::read_write);
  } catch (const IoError& error) {
    if (error.error_number() != EPERM && error.error_number() != EACCES) throw;
    return map_for(Mapping::Access::read);
  }
}

std::span<std::byte> SegmentStore::mapped(matcher::SegmentId segment) {
  auto& entry = const_cast<Entry&>(at(segment));
  if (entry.mapping == nullptr) {
    if (!entry.file) return {};
    entry.mapping = map(entry);
  }
  return entry.mapping->writable();
}

}  // namespace sluice::runtime
