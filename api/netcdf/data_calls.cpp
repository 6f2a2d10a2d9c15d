// Puts and gets of values.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "carried_calls.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"
#include "pnetcdf/entry.hpp"

namespace sluice::api::netcdf {

namespace {

// Statuses of netCDF.
constexpr int read_only = -37, defining = -39, no_place = -40, bad_type = -45, no_variable = -49,
              no_data_of_global = -50, no_conversion = -56, too_long = -57;

/// Empty for types that are not numbers or text.
std::optional<MPI_Datatype> datatype_of(nc_type memory) noexcept {
  const std::array<MPI_Datatype, 12> types{MPI_DATATYPE_NULL, MPI_SIGNED_CHAR,   MPI_CHAR,
                                           MPI_SHORT,         MPI_INT,           MPI_FLOAT,
                                           MPI_DOUBLE,        MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,
                                           MPI_UNSIGNED,      MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG};
  if (memory < 0 || static_cast<std::size_t>(memory) >= types.size()) return std::nullopt;
  return types[static_cast<std::size_t>(memory)];
}

/// What a program gives to one call.
struct DataCall {
  int varid;
  const std::size_t* start;
  const std::size_t* count;
  const std::ptrdiff_t* stride;
  const std::ptrdiff_t* imap;
  nc_type memory;
};

/// A list of numbers as PnetCDF has them; null stays null.
class Offsets {
 public:
  template <class Number>
  Offsets(const Number* numbers, int dimensions) : is_null_(numbers == nullptr) {
    for (int i = 0; !is_null_ && i < dimensions; ++i) values_.push_back(static_cast<MPI_Offset>(numbers[i]));
    values_.push_back(0);  // so that the list of a scalar is no null pointer
  }
  [[nodiscard]] const MPI_Offset* get() const noexcept { return is_null_ ? nullptr : values_.data(); }

 private:
  bool is_null_;
  std::vector<MPI_Offset> values_;
};

Shape shape_of(const DataCall& call) noexcept {
  if (call.imap != nullptr) return Shape::varm;
  return call.stride != nullptr ? Shape::vars : Shape::vara;
}

/// The facts of a variable that a call needs.
struct VariableFacts {
  int dimensions = 0;
  nc_type external = 0;
};

int find_variable(const CarriedDataset& dataset, int varid, VariableFacts& facts) {
  return dataset.ask("nc_inq_var", varid, static_cast<char*>(nullptr), &facts.external, &facts.dimensions,
                     static_cast<int*>(nullptr), static_cast<int*>(nullptr));
}

bool is_empty(const DataCall& call, const VariableFacts& facts) {
  const auto* const end = call.count + facts.dimensions;
  return call.count != nullptr && std::find(call.count, end, 0U) != end;
}

/// One dimension of a selection.
struct Extent {
  std::size_t start, count, length;
  bool is_start_checked;  ///< not of records of a dataset that is written: there, the end is
};

/// Extents in the order of dimensions. Those that a put makes longer are left out.
std::vector<Extent> extents_of(const CarriedDataset& dataset, Verb verb, const DataCall& call,
                               int dimensions) {
  std::vector<int> dimids(static_cast<std::size_t>(dimensions) + 1);
  int growing = -1;
  (void)dataset.ask("nc_inq_vardimid", call.varid, dimids.data());
  (void)dataset.ask("nc_inq_unlimdim", &growing);
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    const bool is_records = dimids[i] == growing;
    if (is_records && verb == Verb::put) continue;
    Extent extent{call.start[i], call.count[i], 0, !is_records || !dataset.is_writable};
    (void)length_of(dataset, dimids[i], &extent.length);
    extents.push_back(extent);
  }
  return extents;
}

/// The selection of a block: netCDF first looks at all starts, and then at all ends.
int status_of_block(const CarriedDataset& dataset, Verb verb, const DataCall& call,
                    const VariableFacts& facts) {
  if (call.start == nullptr || call.count == nullptr) return 0;
  const auto extents = extents_of(dataset, verb, call, facts.dimensions);
  for (const Extent& extent : extents)
    if (extent.is_start_checked && extent.start > extent.length) return no_place;
  for (const Extent& extent : extents) {
    if (extent.is_start_checked && extent.start == extent.length && extent.count > 0) return no_place;
    if (extent.start > extent.length || extent.count > extent.length - extent.start) return too_long;
  }
  return 0;
}

/// Whether all strides are 1.
bool is_dense(const DataCall& call, const VariableFacts& facts) {
  return std::all_of(call.stride, call.stride + facts.dimensions,
                     [](std::ptrdiff_t stride) { return stride == 1; });
}

nc_type type_in_memory(const DataCall& call, const VariableFacts& facts) noexcept {
  return call.memory == type::own ? facts.external : call.memory;
}

bool is_convertible(const DataCall& call, const VariableFacts& facts) {
  const nc_type memory = type_in_memory(call, facts);
  return (memory == type::text) == (facts.external == type::text);
}

/// What netCDF refuses, in its order, before it looks at the selection. Empty: go on.
std::optional<int> find_status(const CarriedDataset& dataset, Verb verb, const DataCall& call,
                               VariableFacts& facts) {
  int of_variable = find_variable(dataset, call.varid, facts);
  const bool is_block = call.stride == nullptr && call.imap == nullptr;
  if (of_variable == no_variable && call.varid == global && is_block) of_variable = no_data_of_global;
  if (!is_block) {
    if (of_variable != 0) return of_variable;
    if (!is_convertible(call, facts)) return no_conversion;
    const bool is_one_call = verb == Verb::put && call.imap == nullptr && is_dense(call, facts);
    if (!is_one_call && is_empty(call, facts)) return 0;  // netCDF makes one call for each block: none here
  }
  if (verb == Verb::put && !dataset.is_writable) return read_only;
  if (dataset.in_define_mode) return defining;
  if (of_variable != 0) return of_variable;
  if (!is_convertible(call, facts)) return no_conversion;
  if (!datatype_of(type_in_memory(call, facts))) return bad_type;
  const int of_block = is_block ? status_of_block(dataset, verb, call, facts) : 0;
  return of_block != 0 ? std::optional(of_block) : std::nullopt;
}

/// A put of a block without elements makes records, too, as many as it would with elements.
int raise_records(const CarriedDataset& dataset, const DataCall& call, const VariableFacts& facts) {
  if (call.stride != nullptr || call.imap != nullptr || !is_empty(call, facts)) return 0;
  return guard([&] {
    const DatasetUse use(dataset.coupled);
    if (!use->header.is_record_variable(call.varid)) return 0;
    const auto records = static_cast<std::int64_t>(call.start[0] + call.count[0]);
    if (records > use->header.record_count) raise_record_count(*use, records, Mode::collective);
    return 0;
  });
}

int move(int ncid, Verb verb, const DataCall& asked, void* values) {
  const CarriedDataset& dataset = carried(ncid);
  VariableFacts facts;
  if (const auto status = find_status(dataset, verb, asked, facts)) return *status;
  const Offsets start(asked.start, facts.dimensions), count(asked.count, facts.dimensions);
  const Offsets stride(asked.stride, facts.dimensions), imap(asked.imap, facts.dimensions);
  AccessCall call;
  call.verb = verb;
  call.shape = shape_of(asked);
  call.is_collective = true;
  call.ncid = dataset.coupled;
  call.varid = asked.varid;
  call.start = start.get();
  call.count = count.get();
  call.stride = stride.get();
  call.imap = imap.get();
  call.buffer = values;
  call.buffer_type = *datatype_of(type_in_memory(asked, facts));
  const int moved = access(call);
  return moved != 0 || verb == Verb::get ? moved : raise_records(dataset, asked, facts);
}

int put(int ncid, const DataCall& call, const void* values) {
  return move(ncid, Verb::put, call, const_cast<void*>(values));
}

using Sizes = DispatchTable::Sizes;
using Strides = DispatchTable::Strides;

int get_vara(int ncid, int varid, Sizes start, Sizes count, void* values, nc_type memory) {
  return move(ncid, Verb::get, {varid, start, count, nullptr, nullptr, memory}, values);
}
int put_vara(int ncid, int varid, Sizes start, Sizes count, const void* values, nc_type memory) {
  return put(ncid, {varid, start, count, nullptr, nullptr, memory}, values);
}
int get_vars(int ncid, int varid, Sizes start, Sizes count, Strides stride, void* values, nc_type memory) {
  return move(ncid, Verb::get, {varid, start, count, stride, nullptr, memory}, values);
}
int put_vars(int ncid, int varid, Sizes start, Sizes count, Strides stride, const void* values,
             nc_type memory) {
  return put(ncid, {varid, start, count, stride, nullptr, memory}, values);
}
int get_varm(int ncid, int varid, Sizes start, Sizes count, Strides stride, Strides imap, void* values,
             nc_type memory) {
  return move(ncid, Verb::get, {varid, start, count, stride, imap, memory}, values);
}
int put_varm(int ncid, int varid, Sizes start, Sizes count, Strides stride, Strides imap, const void* values,
             nc_type memory) {
  return put(ncid, {varid, start, count, stride, imap, memory}, values);
}

}  // namespace

void add_data_calls(DispatchTable& table) noexcept {
  table.get_vara = get_vara;
  table.put_vara = put_vara;
  table.get_vars = get_vars;
  table.put_vars = put_vars;
  table.get_varm = get_varm;
  table.put_varm = put_varm;
}

}  // namespace sluice::api::netcdf
