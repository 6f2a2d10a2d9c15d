#include "sluice/runtime/step_logs.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {
// Another thread received the answer that tells the range and is about to add it.
constexpr std::chrono::seconds arrival_limit{10};
constexpr std::uint32_t writer_limit = 1U << 31;  // no log has such a number, nor has a landing log
}  // namespace

void StepLogs::raise_record_count(std::int64_t records) noexcept {
  auto known = record_count_.load();
  while (known < records && !record_count_.compare_exchange_weak(known, records)) {
  }
}

void StepLogs::add(std::span<const LogRange> ranges) {
  const std::lock_guard lock(mutex_);
  if (ranges.empty() && not_mapped_.empty()) return;
  not_mapped_.insert(not_mapped_.end(), ranges.begin(), ranges.end());
  std::size_t done = 0;
  try {
    for (; done < not_mapped_.size(); ++done) add_mapped(not_mapped_[done]);
  } catch (const IoError&) {
    not_mapped_.erase(not_mapped_.begin(), not_mapped_.begin() + static_cast<std::ptrdiff_t>(done));
    told_.notify_all();
    throw;
  } catch (const Error&) {
    not_mapped_.clear();  // damage is told once
    throw;
  }
  not_mapped_.clear();
  told_.notify_all();
}

void StepLogs::add_mapped(const LogRange& range) {
  auto mapping = segments_.mapping(range.segment, Mapping::Access::read);
  const auto all = mapping->bytes();
  if (range.writer >= writer_limit || range.segment_offset > all.size() ||
      range.length_bytes > all.size() - range.segment_offset) {
    throw Error(NC_EIO, "damaged log range: " + std::to_string(range.length_bytes) + " bytes at " +
                            std::to_string(range.segment_offset) + " of segment " +
                            std::to_string(range.segment) + ", which has " + std::to_string(all.size()));
  }
  auto& known = by_writer_[range.writer];
  const auto place =
      std::lower_bound(known.begin(), known.end(), range.log_offset,
                       [](const Range& r, std::uint64_t offset) { return r.log_offset < offset; });
  Range entry{range.log_offset, all.subspan(range.segment_offset, range.length_bytes), std::move(mapping)};
  if (place != known.end() && place->log_offset == range.log_offset) {
    *place = std::move(entry);
  } else {
    known.insert(place, std::move(entry));
  }
}

StepLogs::Found StepLogs::find(std::uint32_t writer, std::uint64_t log_offset) const noexcept {
  const auto log = by_writer_.find(writer);
  if (log == by_writer_.end()) return {};
  const auto& known = log->second;
  const auto next =
      std::upper_bound(known.begin(), known.end(), log_offset,
                       [](std::uint64_t offset, const Range& r) { return offset < r.log_offset; });
  if (next == known.begin()) return {};
  const Range& range = *std::prev(next);
  std::uint64_t length = range.bytes.size();
  if (next != known.end()) length = std::min(length, next->log_offset - range.log_offset);
  return {range.log_offset, range.bytes.first(length), &range};
}

bool StepLogs::Reader::holds(std::uint32_t writer, std::uint64_t first, std::uint64_t end) {
  while (first < end) {
    const Found found = logs_.find(writer, first);
    if (first - found.first >= found.bytes.size()) return false;
    first = found.first + found.bytes.size();
  }
  return true;
}

void StepLogs::Reader::prefault(std::uint32_t writer, std::uint64_t first, std::uint64_t end) {
  while (first < end) {
    const Found found = logs_.find(writer, first);
    if (first - found.first >= found.bytes.size()) return;
    const std::uint64_t found_end = found.first + found.bytes.size();
    const Mapping& mapping = *found.range->mapping;
    const auto offset = static_cast<std::uint64_t>(found.bytes.data() - mapping.bytes().data());
    mapping.prefault_reads(offset + (first - found.first), std::min(end, found_end) - first);
    first = found_end;
  }
}

std::span<const std::byte> StepLogs::Reader::at(std::uint32_t writer, std::uint64_t log_offset) {
  const auto is_in_last = [&] {
    return writer == last_writer_ && log_offset >= last_first_ && log_offset - last_first_ < last_.size();
  };
  const auto is_known = [&] {
    last_writer_ = writer;
    const Found found = logs_.find(writer, log_offset);
    last_ = found.bytes;
    last_first_ = found.first;
    return is_in_last();
  };
  if (!is_in_last() && !is_known() && !logs_.told_.wait_for(lock_, arrival_limit, is_known)) return {};
  return last_.subspan(log_offset - last_first_);
}

}  // namespace sluice::runtime
