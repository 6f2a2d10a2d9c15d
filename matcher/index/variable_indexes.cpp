#include "sluice/matcher/variable_indexes.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

VariableIndexes::VariableIndexes(const formats::Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) {
    const formats::Variable& variable = header.variable(id);
    const int dimensions = static_cast<int>(variable.dimids.size());
    const std::size_t bytes = formats::size_of(variable.type);
    variables_.push_back({.element_bytes = bytes,
                          .dimensions = dimensions,
                          .has_records = header.is_record_variable(id),
                          .writes = WriteIndex(dimensions, bytes),
                          .lists = {},
                          .shifts = {}});
  }
}

void VariableIndexes::add(std::uint32_t writer, const TableEntry& entry) {
  Variable& written = at(entry.varid);
  expect_dimensions(written, entry.varid, entry.box.start.size());
  index_lists(written);  // earlier requests first
  written.writes.add({writer, entry.sequence, entry.log_offset, entry.kind == EntryKind::fill, entry.box});
  if (!written.has_records || std::ranges::find(entry.box.count, 0) != entry.box.count.end()) return;
  const std::int64_t step = entry.box.stride.empty() ? 1 : entry.box.stride[0];
  const std::int64_t first = entry.box.start[0];
  const std::int64_t last = first + (entry.box.count[0] - 1) * step;  // no overflow: the box is sound
  records_end_ = std::max({records_end_, first + 1, last + 1});
}

void VariableIndexes::add(std::uint32_t writer, const TableEntry& entry,
                          std::shared_ptr<const ListedBoxes> list) {
  Variable& written = at(entry.varid);
  expect_dimensions(written, entry.varid, entry.dimensions);
  if (written.has_records) records_end_ = std::max(records_end_, list->first_dimension_end);
  written.lists.push_back({writer, entry.sequence, entry.log_offset, entry.element_bytes, std::move(list)});
  if (written.writes.size() > 0) index_lists(written);
}

/// Adds the requests of the variable's lists to its own index.
void VariableIndexes::index_lists(Variable& variable) {
  for (const ListRequest& request : std::exchange(variable.lists, {})) {
    TableEntry whole;
    whole.sequence = request.sequence;
    whole.log_offset = request.log_offset;
    whole.element_bytes = request.element_bytes;
    for_each_box(whole, *request.list, [&](const TableEntry& entry) {
      variable.writes.add({request.writer, entry.sequence, entry.log_offset, false, entry.box});
    });
  }
}

VariableWrites VariableIndexes::writes(int varid) {
  Variable& variable = at(varid);
  if (variable.lists.empty() && variable.writes.size() == 0) return {nothing_for(variable), {}};
  if (variable.lists.empty()) return {variable.writes, {}};
  if (variable.indexed_by < 0) settle(varid, variable);
  return {at(variable.indexed_by).writes, variable.shifts};
}

/// One index without requests for all variables of the same shape.
WriteIndex& VariableIndexes::nothing_for(const Variable& variable) {
  const auto known = nothing_.find(shape_of(variable));
  if (known != nothing_.end()) return known->second;
  return nothing_.emplace(shape_of(variable), WriteIndex(variable.dimensions, variable.element_bytes))
      .first->second;
}

/// Finds a variable whose index serves this variable, too, or makes an index.
void VariableIndexes::settle(int varid, Variable& variable) {
  const auto [place, is_new] = indexed_shapes_.try_emplace(shape_of(variable), varid);
  variable.indexed_by = place->second;
  variable.shifts = shifts_between(at(place->second), variable);
  if (!is_new) return;
  std::vector<ListRequest> kept = variable.lists;  // for shifts of other variables
  index_lists(variable);
  variable.lists = std::move(kept);
}

namespace {

std::uint64_t bits(std::int64_t number) noexcept {
  return std::bit_cast<std::uint64_t>(number);
}

}  // namespace

/// Compares lists by their addresses: a writer has equal lists only once, and lists of different writers are
/// never the same request.
VariableIndexes::Shape VariableIndexes::shape_of(const Variable& variable) {
  std::vector<std::uint64_t> sequences;
  std::map<std::uint32_t, std::uint64_t> first_offsets;
  for (const ListRequest& request : variable.lists) {
    sequences.push_back(request.sequence);
    first_offsets.try_emplace(request.writer, request.log_offset);
  }
  std::ranges::sort(sequences);
  Shape shape{variable.element_bytes, bits(variable.dimensions)};
  for (const ListRequest& request : variable.lists) {
    const auto rank = std::ranges::lower_bound(sequences, request.sequence) - sequences.begin();
    shape.insert(shape.end(),
                 {request.writer, reinterpret_cast<std::uintptr_t>(request.list.get()), request.element_bytes,
                  request.log_offset - first_offsets.at(request.writer), bits(rank)});
  }
  return shape;
}

/// The shifts between two variables of the same shape.
std::vector<LogShift> VariableIndexes::shifts_between(const Variable& indexed, const Variable& other) {
  std::vector<LogShift> shifts;
  for (std::size_t i = 0; i < indexed.lists.size(); ++i) {
    const ListRequest& from = indexed.lists[i];
    const auto bytes = std::bit_cast<std::int64_t>(other.lists[i].log_offset - from.log_offset);
    if (bytes != 0) shifts.push_back({from.writer, bytes});
  }
  std::ranges::sort(shifts, {}, &LogShift::writer);
  shifts.erase(std::unique(shifts.begin(), shifts.end()), shifts.end());
  return shifts;
}

void VariableIndexes::expect_dimensions(const Variable& written, int varid, std::size_t dimensions) const {
  if (dimensions == static_cast<std::size_t>(written.dimensions)) return;
  throw Error(NC_EIO, "a request table has a request of " + std::to_string(dimensions) +
                          " dimensions for variable " + std::to_string(varid) + ", which has " +
                          std::to_string(written.dimensions));
}

VariableIndexes::Variable& VariableIndexes::at(int varid) {
  if (!has_variable(varid)) throw Error(NC_EIO, "the header has no variable " + std::to_string(varid));
  return variables_[static_cast<std::size_t>(varid)];
}

}  // namespace sluice::matcher
