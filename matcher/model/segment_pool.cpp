#include "sluice/matcher/segment_pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace sluice::matcher {

namespace {
/// Limit of free segments of one size that are examined for one that a process has mapped.
constexpr std::size_t max_looked_at = 256;

/// The memory that the system has provided when the first `used` bytes of a segment of `bytes` have been
/// touched.
std::uint64_t taken_bytes(std::uint64_t used, std::uint64_t bytes) noexcept {
  const std::uint64_t huge_bytes = bytes / huge_page_bytes * huge_page_bytes;
  const std::uint64_t page = used < huge_bytes ? huge_page_bytes : segment_unit_bytes;
  return std::min((used + page - 1) / page * page, bytes);
}

/// The largest free segment that is lent for a request.
std::uint64_t largest_for(std::uint64_t bytes) noexcept {
  // At most half as much again: a larger segment would waste memory.
  const std::uint64_t wanted = SegmentPool::size_class(bytes);
  return wanted > ~std::uint64_t{0} / 2 ? wanted : wanted + wanted / 2;
}

std::uint64_t in_whole_units(std::uint64_t bytes) noexcept {
  const std::uint64_t units = bytes / segment_unit_bytes + (bytes % segment_unit_bytes != 0 ? 1 : 0);
  return std::max<std::uint64_t>(units, 1) * segment_unit_bytes;
}
}  // namespace

SegmentLease::SegmentLease(SegmentLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      id_(other.id_),
      bytes_(other.bytes_),
      charged_bytes_(other.charged_bytes_) {}

SegmentLease& SegmentLease::operator=(SegmentLease&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    id_ = other.id_;
    bytes_ = other.bytes_;
    charged_bytes_ = other.charged_bytes_;
  }
  return *this;
}

void SegmentLease::trim(std::uint64_t used_bytes) noexcept {
  if (pool_ != nullptr) charged_bytes_ = pool_->trim(id_, used_bytes);
}

bool SegmentLease::restore() noexcept {
  if (pool_ == nullptr || !pool_->restore(id_)) return false;
  charged_bytes_ = bytes_;
  return true;
}

void SegmentLease::release() noexcept {
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->give_back(id_);
}

SegmentPool::SegmentPool(SegmentMemory& memory, std::uint64_t limit_bytes, std::uint32_t node,
                         const WarmShares& warm)
    : memory_(memory),
      limit_bytes_(limit_bytes),
      node_(node),
      warm_left_(warm.matchers, warm.bytes),
      segments_(node) {
  total_bytes_ = free_bytes_ = warm.matchers * warm.bytes;
}

SegmentPool::~SegmentPool() {
  segments_.for_each([this](SegmentId id, const Segment& /*segment*/) { (void)memory_.destroy(id); });
}

std::uint64_t SegmentPool::size_class(std::uint64_t bytes) noexcept {
  if (bytes <= segment_unit_bytes) return segment_unit_bytes;
  if (bytes > (std::uint64_t{1} << 62)) return ~std::uint64_t{0};  // beyond every limit
  const std::uint64_t step = std::max(segment_unit_bytes, std::bit_ceil(bytes) / 16);
  return (bytes + step - 1) / step * step;
}

std::optional<SegmentLease> SegmentPool::recycle(const Request& request) {
  const std::uint64_t most = largest_for(request.bytes);
  const auto first = free_.lower_bound({request.matcher, request.bytes});
  const auto last = free_.upper_bound({request.matcher, most});
  for (auto size = first; size != last; ++size) {
    const std::size_t count = size->second.size();
    for (std::size_t i = count; i-- > count - std::min(count, max_looked_at);) {
      if (segments_.at(size->second[i]).is_mapped_by(request.process) && suits(size->second[i], request)) {
        return lend(size, i, request.use);
      }
    }
  }
  for (auto size = first; size != last; ++size) {
    if (const auto newest = newest_in(size->second, request)) return lend(size, *newest, request.use);
  }
  return std::nullopt;
}

std::size_t SegmentPool::count_recyclable(const Request& request, std::span<const ProcessId> processes,
                                          std::uint64_t room_bytes) const {
  const auto size = free_.lower_bound({request.matcher, request.bytes});
  if (size == free_.end() || size->first.matcher != request.matcher ||
      size->first.bytes > largest_for(request.bytes))
    return 0;
  const FreeList& list = size->second;
  const auto is_next = [&](std::size_t i) {
    const std::uint64_t used = used_bytes() + i * size->first.bytes;
    const SegmentId id = list[list.size() - 1 - i];
    return used + request.bytes <= room_bytes && segments_.at(id).is_mapped_by(processes[i]) &&
           suits(id, request);
  };
  std::size_t count = 0;
  while (count < std::min(processes.size(), list.size()) && is_next(count)) ++count;
  return count;
}

std::vector<SegmentLease> SegmentPool::recycle(const Request& request, std::size_t count) {
  std::vector<SegmentLease> leases;
  if (count == 0) return leases;
  leases.reserve(count);
  const auto size = free_.lower_bound({request.matcher, request.bytes});
  FreeList& list = size->second;
  const std::uint64_t bytes = size->first.bytes;
  for (std::size_t i = 0; i < count; ++i) {
    leave_free(list.back(), request.use);
    leases.push_back({this, list.back(), bytes});
    list.pop_back();
  }
  if (list.empty()) free_.erase(size);
  free_bytes_ -= count * bytes;
  note_use();
  return leases;
}

std::optional<std::size_t> SegmentPool::newest_in(const FreeList& list, const Request& request) const {
  for (std::size_t i = list.size(); i-- > 0;) {
    if (suits(list[i], request)) return i;
  }
  return std::nullopt;
}

std::optional<SegmentLease> SegmentPool::make(const Request& request) {
  const std::uint64_t bytes = size_class(request.bytes);
  const bool has_room = bytes <= limit_bytes_ && total_bytes_ <= limit_bytes_ - bytes;
  if (!has_room && !has_warm(request.matcher, bytes)) return std::nullopt;
  return create(bytes, request.matcher);
}

std::optional<SegmentLease> SegmentPool::squeeze(const Request& request) {
  if (request.bytes > limit_bytes_) return std::nullopt;
  if (const auto larger = free_.lower_bound({request.matcher, request.bytes});
      larger != free_.end() && larger->first.matcher == request.matcher &&
      larger->first.bytes / 4 <= size_class(request.bytes)) {
    if (const auto newest = newest_in(larger->second, request)) return lend(larger, *newest, request.use);
  }
  const std::uint64_t units = (request.bytes + segment_unit_bytes - 1) / segment_unit_bytes;
  const std::uint64_t tight = std::max<std::uint64_t>(units, 1) * segment_unit_bytes;
  if (tight > limit_bytes_ || used_bytes() > limit_bytes_ - tight) return std::nullopt;
  const std::uint64_t generous = size_class(request.bytes);
  const bool has_room = generous <= limit_bytes_ && used_bytes() <= limit_bytes_ - generous;
  const std::uint64_t bytes = has_room ? generous : tight;
  if (has_warm(request.matcher, bytes)) return create(bytes, request.matcher);
  if (total_bytes_ > limit_bytes_ - bytes) drop_warm();
  while (total_bytes_ > limit_bytes_ - bytes) destroy(free_.rbegin()->second.front());
  return create(bytes, request.matcher);
}

std::optional<SegmentLease> SegmentPool::image(const Request& request) {
  if (request.bytes > limit_bytes_) return std::nullopt;
  const std::uint64_t bytes = in_whole_units(request.bytes);
  if (bytes > limit_bytes_ || used_bytes() > limit_bytes_ - bytes) return std::nullopt;
  if (total_bytes_ > limit_bytes_ - bytes) drop_warm();
  while (total_bytes_ > limit_bytes_ - bytes) destroy(free_.rbegin()->second.front());
  return image_beyond_limit(request);
}

SegmentLease SegmentPool::image_beyond_limit(const Request& request) {
  const std::uint64_t bytes = in_whole_units(request.bytes);
  const SegmentId id = segment_id({node_, request.matcher}, next_number_++);
  memory_.create_image(id, bytes);
  segments_.add(id, bytes).set(Mark::image, true);
  total_bytes_ += bytes;
  note_use();
  return {this, id, bytes};
}

SegmentPool::Spilled SegmentPool::spill(const Request& request) {
  const std::uint64_t bytes = in_whole_units(request.bytes);
  const SegmentId id = segment_id({node_, request.matcher}, next_number_++) | spilled_bit;
  const bool has_own_file = request.use == SegmentUse::image || request.use == SegmentUse::file;
  const bool is_made = has_own_file
                           ? memory_.create_spilled_image(id, request.is_on_disk ? 0 : bytes, request.room)
                           : memory_.create_spilled(id, bytes, request.room);
  return {note_on_disk(id, bytes, is_made), is_made};
}

SegmentLease SegmentPool::log(const Request& request, const LogPlace& place) {
  const SegmentId id = segment_id({node_, request.matcher}, next_number_++) | spilled_bit;
  memory_.create_logged(id, request.bytes, place);
  return note_on_disk(id, request.bytes, true);
}

SegmentLease SegmentPool::note_on_disk(SegmentId id, std::uint64_t bytes, bool is_made) {
  segments_.add(id, bytes).set(Mark::unmade, !is_made);
  spilled_bytes_ += bytes;
  spilled_peak_bytes_ = std::max(spilled_peak_bytes_, spilled_bytes_);
  return {this, id, bytes};
}

void SegmentPool::note_mapped(SegmentId segment, ProcessId process) {
  if (segments_.contains(segment)) segments_.at(segment).note_mapped(process);
}

void SegmentPool::forget(ProcessId process, bool may_write) {
  FreeList tainted;
  segments_.for_each([&](SegmentId id, Segment segment) {
    if (!segment.forget(process) || !may_write) return;
    segment.set(Mark::tainted, true);
    if (segment.is(Mark::free)) tainted.push_back(id);
  });
  for (const SegmentId id : tainted) destroy(id);
}

/// Returns the bytes that still count.
std::uint64_t SegmentPool::trim(SegmentId id, std::uint64_t used_bytes) noexcept {
  Segment segment = segments_.at(id);
  if (is_spilled(id) || segment.is(Mark::image)) return segment.bytes();
  if (!segment.is(Mark::trimmed)) {
    const std::uint64_t used = std::min(used_bytes, segment.bytes());
    segment.set_touched_bytes(std::max(segment.touched_bytes(), taken_bytes(used, segment.bytes())));
    segment.set(Mark::trimmed, true);
    total_bytes_ -= segment.spared_bytes();
  }
  return segment.charged_bytes();
}

bool SegmentPool::restore(SegmentId id) noexcept {
  Segment segment = segments_.at(id);
  if (!segment.is(Mark::trimmed)) return true;
  const std::uint64_t most = limit_bytes_ - std::min(limit_bytes_, segment.spared_bytes());
  if (used_bytes() > most) return false;
  if (total_bytes_ > most) drop_warm();
  while (total_bytes_ > most) destroy(free_.rbegin()->second.front());
  total_bytes_ += segment.spared_bytes();
  segment.set(Mark::trimmed, false);
  note_use();
  return true;
}

void SegmentPool::give_back(const SegmentRow& row) noexcept {
  FreeKey key;
  FreeList* list = nullptr;  // the key's; destroy() may end it
  for (std::uint64_t i = row.count; i-- > 0;) {
    const SegmentId id = row.at(i);
    Segment segment = segments_.at(id);
    const std::uint64_t bytes = segment.bytes();
    const std::uint64_t spared = segment.spared_bytes();
    // The next user needs the whole segment, and there may be no memory for it.
    if (is_spilled(id) || segment.is(Mark::image) || segment.is(Mark::tainted) ||
        total_bytes_ > limit_bytes_ - spared) {
      list = nullptr;
      destroy(id);
      continue;
    }
    total_bytes_ += spared;
    if (!segment.is(Mark::trimmed)) segment.set_touched_bytes(bytes);
    segment.set(Mark::trimmed, false);
    segment.set(Mark::free, true);
    free_bytes_ += bytes;
    if (const FreeKey own{owner_of(id).index, bytes}; list == nullptr || key != own) {
      key = own;
      list = &free_[key];
    }
    list->push_back(id);
  }
}

void SegmentPool::destroy(SegmentId id) noexcept {
  const Segment segment = segments_.at(id);
  const bool gives_disk_back = is_spilled(id) && !segment.is(Mark::unmade);
  if (is_spilled(id)) {
    spilled_bytes_ -= segment.bytes();
  } else {
    total_bytes_ -= segment.charged_bytes();
  }
  if (segment.is(Mark::free)) {
    free_bytes_ -= segment.bytes();
    const auto size = free_.find({owner_of(id).index, segment.bytes()});
    size->second.erase(std::ranges::find(size->second, id));  // most often it is the oldest, in front
    if (size->second.empty()) free_.erase(size);
  }
  segments_.erase(id);
  const bool is_gone = memory_.destroy(id);
  if (!gives_disk_back) return;
  if (is_gone) {
    ++spills_given_back_;
  } else {
    going_.insert(id);
  }
}

SegmentLease SegmentPool::lend(FreeLists::iterator size, std::size_t position, SegmentUse use) {
  const SegmentId id = size->second[position];
  leave_free(id, use);
  const std::uint64_t bytes = size->first.bytes;
  size->second.erase(size->second.begin() + static_cast<std::ptrdiff_t>(position));
  if (size->second.empty()) free_.erase(size);
  free_bytes_ -= bytes;
  note_use();
  return {this, id, bytes};
}

/// Somebody uses the segment again.
void SegmentPool::leave_free(SegmentId id, SegmentUse use) {
  memory_.clear(id, use);
  Segment segment = segments_.at(id);
  segment.set(Mark::free, false);
  segment.set(Mark::landed, false);
}

std::optional<SegmentLease> SegmentPool::create(std::uint64_t bytes, std::uint32_t matcher) {
  const SegmentId id = segment_id({node_, matcher}, next_number_++);
  memory_.create(id, bytes);
  Segment segment = segments_.add(id, bytes);
  if (has_warm(matcher, bytes)) {
    segment.set_touched_bytes(bytes);
    warm_left_[matcher] -= bytes;
    free_bytes_ -= bytes;
  } else {
    total_bytes_ += bytes;
  }
  note_use();
  return SegmentLease{this, id, bytes};
}

void SegmentPool::drop_warm() noexcept {
  for (std::uint32_t matcher = 0; matcher < warm_left_.size(); ++matcher) {
    if (warm_left_[matcher] == 0) continue;
    memory_.drop_warm({node_, matcher});
    total_bytes_ -= warm_left_[matcher];
    free_bytes_ -= warm_left_[matcher];
    warm_left_[matcher] = 0;
  }
}

void SegmentPool::note_use() noexcept {
  used_peak_bytes_ = std::max(used_peak_bytes_, used_bytes());
}

}  // namespace sluice::matcher
