#include "sluice/matcher/log_extent.hpp"

#include <algorithm>

namespace sluice::matcher {
namespace {

std::uint64_t bit_of(int varid) noexcept {
  return std::uint64_t{1} << (static_cast<unsigned>(varid) % 64U);
}

}  // namespace

void LogExtent::add(int varid, std::span<const int> dimids, std::span<const IndexRange> ranges) {
  variables |= bit_of(varid);
  for (std::size_t d = 0; d < dimids.size(); ++d) {
    // What is not told of a box may be anything.
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

OwnedExtent::OwnedExtent(const formats::Header& header, const StepPartition& partition, std::uint32_t owner) {
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const Ownership& ownership = partition.of(varid);
    const auto range = ownership.range_of(owner);
    if (!range) continue;
    Part part{bit_of(varid), -1, {}};
    if (ownership.dimension() >= 0) {
      part.dimid = header.variable(varid).dimids[static_cast<std::size_t>(ownership.dimension())];
      part.range = *range;
    }
    const auto same =
        std::ranges::find_if(parts_, [&](const Part& other) { return other.is_same_place(part); });
    if (same == parts_.end()) {
      parts_.push_back(part);
    } else {
      same->variables |= part.variables;
    }
  }
}

bool OwnedExtent::may_hold(const LogExtent& extent) const noexcept {
  if (!extent.is_known) return true;
  return std::ranges::any_of(parts_, [&](const Part& part) {
    if ((part.variables & extent.variables) == 0) return false;
    return part.dimid < 0 || extent.may_reach(part.dimid, part.range);
  });
}

}  // namespace sluice::matcher
