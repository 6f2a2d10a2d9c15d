#include "sluice/matcher/log_extent.hpp"

#include <algorithm>

namespace sluice::matcher {

void LogExtent::add(int varid, std::span<const int> dimids, std::span<const IndexRange> ranges) {
  variables |= variable_bit(varid);
  for (std::size_t d = 0; d < dimids.size(); ++d) {
    // An unknown range may be any range.
    const IndexRange range =
        d < ranges.size() ? ranges[d] : IndexRange{0, std::numeric_limits<std::int64_t>::max()};
    const auto known = std::ranges::find(dimensions, dimids[d], &Dimension::dimid);
    if (known != dimensions.end()) {
      known->first = std::min(known->first, range.first);
      known->end = std::max(known->end, range.end);
    } else if (dimensions.size() < most_dimensions) {
      dimensions.push_back({dimids[d], range.first, range.end});
    }
  }
}

void LogExtent::add(const LogExtent& other) {
  is_known = is_known && other.is_known;
  variables |= other.variables;
  for (const Dimension& dimension : other.dimensions) {
    const auto known = std::ranges::find(dimensions, dimension.dimid, &Dimension::dimid);
    if (known != dimensions.end()) {
      known->first = std::min(known->first, dimension.first);
      known->end = std::max(known->end, dimension.end);
    } else if (dimensions.size() < most_dimensions) {
      dimensions.push_back(dimension);
    } else {
      is_known = false;
    }
  }
}

bool LogExtent::may_reach(int dimid, const IndexRange& range) const noexcept {
  const auto known = std::ranges::find(dimensions, dimid, &Dimension::dimid);
  if (known == dimensions.end()) return dimensions.size() >= most_dimensions;
  return known->first < range.end && range.first < known->end;
}

}  // namespace sluice::matcher
