#include "sluice/matcher/owned_extent.hpp"

#include <algorithm>

namespace sluice::matcher {

OwnedExtent::OwnedExtent(const formats::Header& header, const StepPartition& partition, std::uint32_t owner) {
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const Ownership& ownership = partition.of(varid);
    const auto range = ownership.range_of(owner);
    if (!range) continue;
    Part part{variable_bit(varid), -1, {}};
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
