#pragma once
#include <cstdint>

namespace sluice::matcher {

/// What a segment is for: log data, a request table, or the control block of a group.
enum class SegmentUse : std::uint8_t { data = 0, table = 1, control = 2 };

/// Where a range of one writer's log is. Ranges of one writer ascend in log_offset; where two overlap, the
/// later one holds (a segment's unused end).
struct LogRange {
  std::uint32_t writer = 0;
  std::uint64_t log_offset = 0;
  std::uint64_t length_bytes = 0;
  std::uint64_t segment = 0;
  std::uint64_t segment_offset = 0;
  bool operator==(const LogRange&) const = default;
};

}  // namespace sluice::matcher
