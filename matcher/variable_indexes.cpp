#include "sluice/matcher/variable_indexes.hpp"

#include <algorithm>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

VariableIndexes::VariableIndexes(const formats::Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) {
    const formats::Variable& variable = header.variable(id);
    const int dimensions = static_cast<int>(variable.dimids.size());
    const std::size_t bytes = formats::size_of(variable.type);
    variables_.push_back({bytes, dimensions, header.is_record_variable(id), WriteIndex(dimensions, bytes)});
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
  if (!written.has_records || std::ranges::find(entry.box.count, 0) != entry.box.count.end()) return;
  const std::int64_t step = entry.box.stride.empty() ? 1 : entry.box.stride[0];
  const std::int64_t first = entry.box.start[0];
  const std::int64_t last = first + (entry.box.count[0] - 1) * step;  // no overflow: the box is sound
  records_end_ = std::max({records_end_, first + 1, last + 1});
}

VariableIndexes::Variable& VariableIndexes::at(int varid) {
  if (varid < 0 || static_cast<std::size_t>(varid) >= variables_.size()) {
    throw Error(NC_EIO, "the header has no variable " + std::to_string(varid));
  }
  return variables_[static_cast<std::size_t>(varid)];
}

}  // namespace sluice::matcher
