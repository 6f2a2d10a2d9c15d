#include "sluice/matcher/variable_indexes.hpp"

#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

VariableIndexes::VariableIndexes(const formats::Header& header) {
  for (const formats::Variable& variable : header.variables()) {
    const int dimensions = static_cast<int>(variable.dimids.size());
    const std::size_t bytes = formats::size_of(variable.type);
    variables_.push_back({bytes, dimensions, WriteIndex(dimensions, bytes)});
  }
}

void VariableIndexes::add(std::uint32_t writer, const TableEntry& entry) {
  Variable& written = at(entry.varid);
  if (entry.box.dimensions() != written.dimensions) {
    throw Error(NC_EIO, "a request table has a request of " + std::to_string(entry.box.dimensions()) +
                            " dimensions for variable " + std::to_string(entry.varid) + ", which has " +
                            std::to_string(written.dimensions));
  }
  written.writes.add({writer, entry.sequence, entry.log_offset, entry.kind == EntryKind::fill, entry.box});
}

VariableIndexes::Variable& VariableIndexes::at(int varid) {
  if (varid < 0 || static_cast<std::size_t>(varid) >= variables_.size()) {
    throw Error(NC_EIO, "the header has no variable " + std::to_string(varid));
  }
  return variables_[static_cast<std::size_t>(varid)];
}

}  // namespace sluice::matcher
