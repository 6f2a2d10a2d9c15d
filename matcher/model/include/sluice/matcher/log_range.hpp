#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>

namespace sluice::matcher {

/// The use of a segment: log data, a request table, the control block of a group, or the image of a file.
enum class SegmentUse : std::uint8_t {
  data = 0,
  table = 1,
  control = 2,
  file = 3,  ///< the bytes of a file that a program has written
  image = 4,
};

/// Log offsets from here on are those of a log that is a CDF file: this number and the place in the file. So
/// its elements are big-endian, and every copy of a plan says so. No other log becomes so long.
inline constexpr std::uint64_t first_offset_of_file = std::uint64_t{1} << 61;
/// Shorter files are copied into an ordinary log, in native byte order.
inline constexpr std::uint64_t least_bytes_of_file_log = std::uint64_t{4} << 20;

[[nodiscard]] constexpr bool is_of_file(std::uint64_t log_offset) noexcept {
  return log_offset >= first_offset_of_file;
}

/// The position of a range of one writer's log. Ranges of one writer ascend in log_offset. Where two overlap,
/// the later one holds (the earlier segment has an unused end).
struct LogRange {
  std::uint32_t writer = 0;
  std::uint64_t log_offset = 0;
  std::uint64_t length_bytes = 0;
  std::uint64_t segment = 0;
  std::uint64_t segment_offset = 0;
  bool operator==(const LogRange&) const = default;
};
/// Those of one log. Most logs have one.
using LogRanges = boost::container::small_vector<LogRange, 1>;
[[nodiscard]] inline std::span<const LogRange> all_of(const LogRanges& ranges) noexcept {
  return {ranges.data(), ranges.size()};
}

/// The part of a log's range that no later range covers.
template <class Range>
struct FoundRange {
  const Range* range = nullptr;    ///< null: no range was found
  std::uint64_t length_bytes = 0;  ///< from the beginning of the range
};

/// Finds the range that contains a log offset, in one writer's `ranges`. The elements are LogRanges, or other
/// structs with a log_offset and a length in bytes.
template <class Range, class Length = std::uint64_t Range::*>
[[nodiscard]] FoundRange<Range> range_at(std::span<const Range> ranges, std::uint64_t log_offset,
                                         Length length = &Range::length_bytes) {
  const auto next = std::ranges::upper_bound(ranges, log_offset, {}, &Range::log_offset);
  if (next == ranges.begin()) return {};
  const Range& range = *std::prev(next);
  std::uint64_t length_bytes = std::invoke(length, range);
  if (next != ranges.end()) length_bytes = std::min(length_bytes, next->log_offset - range.log_offset);
  if (log_offset - range.log_offset >= length_bytes) return {};
  return {&range, length_bytes};
}

/// Whether the ranges cover log offsets [first, end). `ranges` and `length` as in range_at().
template <class Range, class Length = std::uint64_t Range::*>
[[nodiscard]] bool cover(std::span<const Range> ranges, std::uint64_t first, std::uint64_t end,
                         Length length = &Range::length_bytes) {
  while (first < end) {
    const auto [range, length_bytes] = range_at(ranges, first, length);
    if (range == nullptr) return false;
    first = range->log_offset + length_bytes;
  }
  return true;
}

}  // namespace sluice::matcher
