#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>

#include "range_bounds.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_pool.hpp"

namespace sluice::matcher {

// The segments of a log, as leases or as what points to them.

inline SegmentLease& lease_of(SegmentLease& segment) noexcept {
  return segment;
}
inline const SegmentLease& lease_of(const SegmentLease& segment) noexcept {
  return segment;
}
inline SegmentLease& lease_of(const std::shared_ptr<SegmentLease>& segment) noexcept {
  return *segment;
}

/// Whether the range is inside one of the data segments.
[[nodiscard]] bool holds_range(const auto& data, const LogRange& range) noexcept {
  const auto owned = std::find_if(data.rbegin(), data.rend(), [&](const auto& segment) {
    return lease_of(segment).id() == range.segment;
  });
  return owned != data.rend() && lies_within(range, lease_of(*owned).bytes());
}

/// The log has closed: the space of its last table behind `end` no longer counts.
void trim_table(auto& tables, const TablePosition& end) noexcept {
  if (end.chunks != 0 && end.chunks == tables.size())
    lease_of(tables.back()).trim(sizeof(std::uint64_t) + end.bytes);
}

/// The same for the space of data segments behind all ranges of the log. Moves those to the end that are not
/// needed: the one that was granted ahead, if nothing was put there. Returns the first of these.
template <class Iterator>
[[nodiscard]] Iterator trim_data(Iterator first, Iterator last, const LogRanges& ranges,
                                 SegmentId ahead) noexcept {
  return std::remove_if(first, last, [&](auto& segment) {
    SegmentLease& lease = lease_of(segment);
    std::uint64_t used = 0;
    for (const LogRange& range : ranges)
      if (range.segment == lease.id()) used = std::max(used, range.segment_offset + range.length_bytes);
    if (used > 0) lease.trim(used);
    return used == 0 && lease.id() == ahead;
  });
}

}  // namespace sluice::matcher
