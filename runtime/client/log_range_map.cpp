#include "sluice/runtime/log_range_map.hpp"

#include <algorithm>
#include <string>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/log_range.hpp"

namespace sluice::runtime {

namespace {
constexpr std::uint32_t writer_limit = 1U << 31;  // all logs and inbound logs have smaller numbers
}  // namespace

void LogRangeMap::raise_record_count(std::int64_t records) noexcept {
  auto known = record_count_.load();
  while (known < records && !record_count_.compare_exchange_weak(known, records)) {
  }
}

void LogRangeMap::add(std::span<const LogRange> ranges) {
  const std::lock_guard lock(mutex_);
  if (ranges.empty() && not_mapped_.empty()) return;
  not_mapped_.insert(not_mapped_.end(), ranges.begin(), ranges.end());
  if (ranges_.use_count() > 1) ranges_ = std::make_shared<Ranges>(*ranges_);
  std::size_t done = 0;
  try {
    for (; done < not_mapped_.size(); ++done) add_mapped(not_mapped_[done]);
  } catch (const IoError&) {
    not_mapped_.erase(not_mapped_.begin(), not_mapped_.begin() + static_cast<std::ptrdiff_t>(done));
    throw;
  } catch (const Error&) {
    not_mapped_.clear();  // damage is reported once
    throw;
  }
  not_mapped_.clear();
}

void LogRangeMap::add_mapped(const LogRange& range) {
  auto mapping = segments_.mapping(range.segment, Mapping::Access::read);
  const auto all = mapping->bytes();
  if (range.writer >= writer_limit || range.segment_offset > all.size() ||
      range.length_bytes > all.size() - range.segment_offset) {
    throw Error(NC_EIO, "damaged log range: " + std::to_string(range.length_bytes) + " bytes at " +
                            std::to_string(range.segment_offset) + " of segment " +
                            std::to_string(range.segment) + ", which has " + std::to_string(all.size()));
  }
  auto& known = (*ranges_)[range.writer];
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

LogRangeMap::Reader::Reader(LogRangeMap& logs) : logs_(logs) {
  const std::lock_guard lock(logs_.mutex_);
  ranges_ = logs_.ranges_;
}

LogRangeMap::Reader::~Reader() {
  const std::lock_guard lock(logs_.mutex_);
  ranges_.reset();
}

LogRangeMap::Reader::Found LogRangeMap::Reader::find(std::uint32_t writer, std::uint64_t log_offset) const {
  const auto log = ranges_->find(writer);
  if (log == ranges_->end()) return {};
  const auto [range, length] = matcher::range_at(std::span<const Range>(log->second), log_offset, size_of);
  if (range == nullptr) return {};
  return {range->log_offset, range->bytes.first(length), range};
}

bool LogRangeMap::Reader::holds(std::uint32_t writer, std::uint64_t first, std::uint64_t end) const {
  const auto log = ranges_->find(writer);
  const auto ranges = log == ranges_->end() ? std::span<const Range>() : std::span<const Range>(log->second);
  return matcher::cover(ranges, first, end, size_of);
}

void LogRangeMap::Reader::prefault(std::uint32_t writer, std::uint64_t first, std::uint64_t end) const {
  while (first < end) {
    const Found found = find(writer, first);
    if (found.range == nullptr) return;
    const std::uint64_t found_end = found.first + found.bytes.size();
    const Mapping& mapping = *found.range->mapping;
    const auto offset = static_cast<std::uint64_t>(found.bytes.data() - mapping.bytes().data());
    mapping.prefault_reads(offset + (first - found.first), std::min(end, found_end) - first);
    first = found_end;
  }
}

std::span<const std::byte> LogRangeMap::Reader::at(std::uint32_t writer, std::uint64_t log_offset) {
  const bool is_in_last =
      writer == last_writer_ && log_offset >= last_.first && log_offset - last_.first < last_.bytes.size();
  if (!is_in_last) {
    last_ = find(writer, log_offset);
    last_writer_ = writer;
  }
  if (last_.range == nullptr) {
    throw Error(NC_EIO, "the matcher has not told where byte " + std::to_string(log_offset) +
                            " of the write log of writer " + std::to_string(writer) +
                            " is: a request table of the step is damaged, or the step has ended");
  }
  return last_.bytes.subspan(log_offset - last_.first);
}

}  // namespace sluice::runtime
