#include "sluice/matcher/step_partition.hpp"

#include <algorithm>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

StepPartition::StepPartition(const formats::Header& header, const Partition& partition)
    : owners_(std::max<std::uint32_t>(partition.owners, 1)) {
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const std::vector<std::int64_t> shape = header.shape(varid);
    variables_.push_back({static_cast<int>(shape.size()), Ownership(partition, varid, shape)});
  }
}

const StepPartition::Variable& StepPartition::at(int varid) const {
  if (varid < 0 || static_cast<std::size_t>(varid) >= variables_.size()) {
    throw Error(NC_EIO, "the header has no variable " + std::to_string(varid));
  }
  return variables_[static_cast<std::size_t>(varid)];
}

const Ownership& StepPartition::of(int varid) const {
  return at(varid).ownership;
}

void StepPartition::divide(const TableEntry& entry, std::vector<OwnedPart>& parts) const {
  const Variable& variable = at(entry.varid);
  if (entry.box.dimensions() != variable.dimensions) {
    throw Error(NC_EIO, "a request of " + std::to_string(entry.box.dimensions()) +
                            " dimensions names variable " + std::to_string(entry.varid) + ", which has " +
                            std::to_string(variable.dimensions));
  }
  variable.ownership.divide(entry.box, parts);
}

}  // namespace sluice::matcher
