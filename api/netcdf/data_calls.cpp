// Puts and gets of values.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "carried_calls.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"
#include "pnetcdf/entry.hpp"
#include "sluice/formats/convert.hpp"
#include "transfer.hpp"

namespace sluice::api::netcdf {

namespace {

// Statuses of netCDF.
constexpr int read_only = -37, defining = -39, no_place = -40, bad_type = -45, no_variable = -49,
              no_data_of_global = -50, no_conversion = -56, too_long = -57, out_of_range = -60,
              hdf_error = -101;

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
  const std::size_t* start = nullptr;
  const std::size_t* count = nullptr;
  const std::ptrdiff_t* stride = nullptr;
  const std::ptrdiff_t* imap = nullptr;
  nc_type memory = type::own;
  // What netCDF says of the variable.
  int dimensions = 0;
  nc_type external = 0;
  bool is_repeated = false;  ///< the same elements were moved before
};

/// A list of numbers as PnetCDF has them, and one more, so that the list of a scalar is no null pointer.
/// Empty for null.
template <class Number>
std::vector<MPI_Offset> offsets_of(const Number* numbers, int dimensions) {
  if (numbers == nullptr) return {};
  std::vector<MPI_Offset> offsets(numbers, numbers + dimensions);
  offsets.push_back(0);
  return offsets;
}

Shape shape_of(const DataCall& call) noexcept {
  if (call.imap != nullptr) return Shape::varm;
  return call.stride != nullptr ? Shape::vars : Shape::vara;
}

int find_variable(const CarriedGroup& group, DataCall& call) {
  return group.inquire("nc_inq_var", call.varid, static_cast<char*>(nullptr), &call.external,
                       &call.dimensions, static_cast<int*>(nullptr), static_cast<int*>(nullptr));
}

bool is_empty(const DataCall& call) {
  const auto* const end = call.count + call.dimensions;
  return call.count != nullptr && std::find(call.count, end, 0U) != end;
}

/// The selection of a block: netCDF first looks at all starts, and then at all ends. A put makes the growing
/// dimension longer; in a dataset that is written, the start there is looked at with the end.
int status_of_block(const CarriedGroup& group, Verb verb, const DataCall& call) {
  if (call.start == nullptr || call.count == nullptr) return 0;
  const auto dimensions = static_cast<std::size_t>(call.dimensions);
  std::vector<int> dimids(dimensions + 1);
  std::vector<std::size_t> lengths(dimensions);
  int growing = -1;
  (void)group.ask("nc_inq_vardimid", call.varid, dimids.data());
  (void)group.inquire("nc_inq_unlimdim", &growing);
  const auto is_free = [&](std::size_t i) { return dimids[i] == growing && verb == Verb::put; };
  const auto is_start_checked = [&](std::size_t i) { return dimids[i] != growing || !group->is_writable; };
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (is_free(i)) continue;
    (void)length_of(group, dimids[i], &lengths[i]);
    if (is_start_checked(i) && call.start[i] > lengths[i]) return no_place;
  }
  bool is_behind_records = false;  // classic formats look at that last
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (is_free(i)) continue;
    if (is_start_checked(i) && call.start[i] == lengths[i] && call.count[i] > 0) return no_place;
    if (call.start[i] <= lengths[i] && call.count[i] <= lengths[i] - call.start[i]) continue;
    if (group->described || dimids[i] != growing) return too_long;
    is_behind_records = true;
  }
  return is_behind_records ? too_long : 0;
}

/// Whether all strides are 1.
bool is_dense(const DataCall& call) {
  return std::all_of(call.stride, call.stride + call.dimensions,
                     [](std::ptrdiff_t stride) { return stride == 1; });
}

nc_type type_in_memory(const DataCall& call) noexcept {
  return call.memory == type::own ? call.external : call.memory;
}

bool is_convertible(const DataCall& call) {
  const nc_type memory = type_in_memory(call);
  return (memory == type::text) == (call.external == type::text);
}

/// What netCDF refuses, in its order, before it looks at the selection. Empty: go on.
std::optional<int> find_status(const CarriedGroup& group, Verb verb, DataCall& call) {
  int of_variable = find_variable(group, call);
  const bool is_block = call.stride == nullptr && call.imap == nullptr;
  if (of_variable == no_variable && call.varid == global && is_block) of_variable = no_data_of_global;
  if (!is_block) {
    if (of_variable != 0) return of_variable;
    if (!is_convertible(call)) return no_conversion;
    const bool is_one_call = verb == Verb::put && call.imap == nullptr && is_dense(call);
    if (!is_one_call && is_empty(call)) return 0;  // netCDF makes one call for each block: none here
  }
  if (verb == Verb::put && !group->is_writable) return read_only;
  if (group->in_define_mode) return defining;
  if (of_variable != 0) return of_variable;
  if (!is_convertible(call)) return no_conversion;
  if (!datatype_of(type_in_memory(call))) return bad_type;
  const int of_block = is_block ? status_of_block(group, verb, call) : 0;
  return of_block != 0 ? std::optional(of_block) : std::nullopt;
}

/// Whether a put of a group is collective: then all know how many records there are. netCDF wants it for
/// variables with filters.
bool is_collective(const CarriedGroup& group, int varid) {
  const auto known = group->group_puts.collective.find({group.group, varid});
  if (known != group->group_puts.collective.end()) return known->second;
  int shuffle = 0, deflate = 0, fletcher32 = 0;
  (void)group.inquire("nc_inq_var_deflate", varid, &shuffle, &deflate, static_cast<int*>(nullptr));
  (void)group.inquire("nc_inq_var_fletcher32", varid, &fletcher32);
  return shuffle != 0 || deflate != 0 || fletcher32 != 0;
}

/// Whether a put of one process of a group would make records, which only collective ones may.
bool extends_alone(const CarriedGroup& group, const DataCall& call, const std::vector<int>& dimids) {
  const int records = group->described->record_dimension();
  if (!group->is_parallel || records < 0 || dimids[0] != records || is_collective(group, call.varid))
    return false;
  std::size_t length = 0;
  const std::size_t stride = call.stride == nullptr ? 1 : static_cast<std::size_t>(call.stride[0]);
  (void)length_of(group, records, &length);
  return call.start[0] + (call.count[0] - 1) * stride >= length;
}

/// What netCDF-4 refuses, in the order of its functions. Empty: go on.
std::optional<int> find_status_of_described(const CarriedGroup& group, Verb verb, const DataCall& call) {
  constexpr int bad_stride = -58, cannot_extend = -130;
  if (!datatype_of(type_in_memory(call))) return bad_type;
  if (call.start == nullptr || call.count == nullptr) return std::nullopt;  // there always are both
  const auto dimensions = static_cast<std::size_t>(call.dimensions);
  for (std::size_t i = 0; call.stride != nullptr && i < dimensions; ++i)
    if (call.stride[i] <= 0) return bad_stride;
  const bool has_elements = !is_empty(call);
  std::vector<int> dimids(dimensions + 1, -1);
  (void)group.inquire("nc_inq_vardimid", call.varid, Values<int, int>{dimids.data(), &call.dimensions});
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (verb == Verb::put && dimids[i] == group->described->record_dimension()) continue;
    std::size_t length = 0;
    if (const int status = length_of(group, dimids[i], &length); status != 0) return status;
    const std::size_t steps = call.count[i] == 0 ? 0 : call.count[i] - 1;
    const std::size_t stride = call.stride == nullptr ? 1 : static_cast<std::size_t>(call.stride[i]);
    if (call.start[i] > length || (call.start[i] == length && call.count[i] > 0)) return no_place;
    const bool is_end_checked = verb == Verb::put ? has_elements : call.count[i] > 0;
    if (is_end_checked && steps > (length - 1 - call.start[i]) / stride) return too_long;
  }
  if (verb == Verb::put && !group->is_writable) return hdf_error;
  if (verb == Verb::put && has_elements && extends_alone(group, call, dimids)) return cannot_extend;
  return has_elements ? std::nullopt : std::optional(0);
}

int var_par_access(int ncid, int varid, int access) {
  constexpr int invalid = -36, independent = 0, collective = 1;
  const CarriedGroup group = carried(ncid);
  if (!group->is_parallel) return group.ask("nc_var_par_access", varid, access);
  if (access != independent && access != collective) return invalid;
  DataCall call{varid};
  if (const int status = find_variable(group, call); status != 0) return status;
  group->group_puts.collective.erase({group.group, varid});
  if (access == independent && is_collective(group, varid)) return invalid;
  group->group_puts.collective[{group.group, varid}] = access == collective;
  return 0;
}

/// The records of a coupled dataset are at least so many. A status.
int raise_records_to(const CarriedGroup& group, std::size_t records) {
  return guard([&] {
    const DatasetUse use(group->coupled);
    const auto count = static_cast<std::int64_t>(records);
    if (count > use->header.record_count) raise_record_count(*use, count, Mode::collective);
    return 0;
  });
}

/// A put of a block without elements makes records, too, as many as it would with elements.
int raise_records(const CarriedGroup& group, const DataCall& call) {
  if (call.stride != nullptr || call.imap != nullptr || !is_empty(call)) return 0;
  bool has_records = false;
  const int status = guard([&] {
    has_records = DatasetUse(group->coupled)->header.is_record_variable(call.varid);
    return 0;
  });
  return status == 0 && has_records ? raise_records_to(group, call.start[0] + call.count[0]) : status;
}

/// A put of one rank of a group: all get it later.
int note_put_of_group(const CarriedGroup& group, const DataCall& call) {
  return guard([&] {
    const auto dimensions = static_cast<std::size_t>(call.dimensions);
    if (dimensions > 0 && is_empty(call)) return 0;
    GroupPuts::Place put{group.group, call.varid, std::vector<std::size_t>(dimensions + 1, 0),
                         std::vector<std::size_t>(dimensions + 1, 1),
                         std::vector<std::ptrdiff_t>(dimensions + 1, 1)};
    std::copy_n(call.start, dimensions, put.start.begin());
    std::copy_n(call.count, dimensions, put.count.begin());
    if (call.stride != nullptr) std::copy_n(call.stride, dimensions, put.stride.begin());
    group->group_puts.add(std::move(put));
    return 0;
  });
}

/// netCDF's own put or get.
int ask_for_values(const CarriedGroup& group, Verb verb, const DataCall& call, void* values) {
  const bool puts = verb == Verb::put;
  const auto ask = [&](const char* put, const char* get, auto... more) {
    const std::string function = variant_of(puts ? put : get, call.memory);
    return puts ? group.ask(function.c_str(), call.varid, call.start, call.count, more...,
                            static_cast<const void*>(values))
                : group.ask(function.c_str(), call.varid, call.start, call.count, more..., values);
  };
  if (call.imap != nullptr) return ask("nc_put_varm", "nc_get_varm", call.stride, call.imap);
  if (call.stride != nullptr) return ask("nc_put_vars", "nc_get_vars", call.stride);
  return ask("nc_put_vara", "nc_get_vara");
}

/// A call for a variable whose values are in the shadow.
int move_in_shadow(const CarriedGroup& group, Verb verb, const DataCall& call, void* values) {
  const bool puts = verb == Verb::put;
  if (puts && group->is_parallel && !GroupPuts::can_share(group, call.external)) return hdf_error;
  if (group->replay() != nullptr) group->replay()->give_up();
  int status = puts || !group->is_writable ? group->make_real() : group->described->lengthen_shadow();
  if (status != 0) return status;
  status = ask_for_values(group, verb, call, values);
  if (puts && group->is_parallel && (status == 0 || status == out_of_range)) {
    const int noted = note_put_of_group(group, call);
    return status != 0 ? status : noted;
  }
  const int records = group->described->record_dimension();
  if (status == 0 && puts) status = group->described->show_values();
  if (status != 0 || !puts || records < 0) return status;
  std::size_t length = 0;
  status = group.ask("nc_inq_dimlen", records, &length);
  return status != 0 ? status : raise_records_to(group, length);
}

/// All of a group agree on the number of records after a collective put that may make some: also a process
/// whose own put has no elements, or has failed. All other calls of groups are independent.
bool agrees_on_records(const CarriedGroup& group, Verb verb, const DataCall& call) {
  if (!group->is_parallel || !group->described || verb == Verb::get || !is_collective(group, call.varid))
    return false;
  int dimensions = 0;
  if (group.inquire("nc_inq_varndims", call.varid, &dimensions) != 0) return false;
  std::vector<int> dimids(static_cast<std::size_t>(dimensions) + 1, -1);
  return group.inquire("nc_inq_vardimid", call.varid, Values<int, int>{dimids.data(), &dimensions}) == 0 &&
         dimids[0] == group->described->record_dimension();
}

int put_nothing(const CarriedGroup& group) {
  return guard([&] {
    transfer_put(*DatasetUse(group->coupled), {}, 0, Mode::collective);
    return 0;
  });
}

/// Puts or gets values of the variable that the coupled dataset knows by that id.
int move_in_coupled(const CarriedGroup& group, Verb verb, const DataCall& asked, int varid, void* values) {
  const auto start = offsets_of(asked.start, asked.dimensions);
  const auto count = offsets_of(asked.count, asked.dimensions);
  const auto stride = offsets_of(asked.stride, asked.dimensions);
  const auto imap = offsets_of(asked.imap, asked.dimensions);
  AccessCall call;
  call.verb = verb;
  call.shape = shape_of(asked);
  call.is_collective = !group->is_parallel || (!asked.is_repeated && agrees_on_records(group, verb, asked));
  call.ncid = group->coupled;
  call.varid = varid;
  call.start = asked.start == nullptr ? nullptr : start.data();
  call.count = asked.count == nullptr ? nullptr : count.data();
  call.stride = asked.stride == nullptr ? nullptr : stride.data();
  call.imap = asked.imap == nullptr ? nullptr : imap.data();
  call.buffer = values;
  call.buffer_type = *datatype_of(type_in_memory(asked));
  return guard([&] {
    const DatasetUse dataset(group->coupled);
    dataset->is_independent = !call.is_collective;
    const int status = access(call);
    dataset->is_independent = false;
    return status;
  });
}

/// Moves the elements once more, because netCDF leaves values out of range as C casts them. Other layouts of
/// the memory stay as they are.
int move_casting(const CarriedGroup& group, Verb verb, DataCall call, int varid, void* values) {
  if (call.imap != nullptr) return out_of_range;
  const auto memory = static_cast<formats::Type>(type_in_memory(call));
  const auto external = static_cast<formats::Type>(call.external);
  std::int64_t elements = 1;
  for (int i = 0; call.count != nullptr && i < call.dimensions; ++i)
    elements *= static_cast<std::int64_t>(call.count[i]);
  std::vector<std::byte> row(static_cast<std::size_t>(elements) * formats::size_of(external));
  call.memory = call.external;
  call.is_repeated = true;
  if (verb == Verb::put) (void)formats::convert_casting(external, row.data(), memory, values, elements);
  const int status = move_in_coupled(group, verb, call, varid, row.data());
  if (status != 0) return status;
  if (verb == Verb::get) (void)formats::convert_casting(memory, values, external, row.data(), elements);
  const bool are_bytes = formats::size_of(memory) == 1 && formats::size_of(external) == 1;
  return are_bytes && (group->mode & mode::classic_model) != 0 ? 0 : out_of_range;
}

/// A small get is made of a block that was read ahead. False: it is to be made as it is, because it is one of
/// few, or lies across the end of a block, or because the type in memory cannot hold a value of the block.
bool get_of_block(const CarriedGroup& group, const DataCall& call, int varid, void* values) {
  if (call.stride != nullptr || call.imap != nullptr || call.start == nullptr || call.count == nullptr)
    return false;
  const auto dimensions = static_cast<std::size_t>(call.dimensions);
  const std::span start(call.start, dimensions), count(call.count, dimensions);
  DataCall of_block = call;
  of_block.memory = type_in_memory(call);
  const std::size_t element_bytes = formats::size_of(static_cast<formats::Type>(of_block.memory));
  std::size_t bytes = element_bytes;
  for (const std::size_t n : count) bytes *= n;
  constexpr std::size_t most_blocks = 64;
  if (group->read_blocks->size() > most_blocks) group->read_blocks->clear();
  ReadBlock& block = (*group->read_blocks)[{varid, of_block.memory}];
  if (dimensions == 0 || !block.count_get(bytes)) return false;
  if (!block.contains(start, count)) {
    std::vector<int> dimids(dimensions);
    std::vector<std::size_t> shape(dimensions);
    (void)group.inquire("nc_inq_vardimid", call.varid, Values<int, int>{dimids.data(), &call.dimensions});
    for (std::size_t i = 0; i < dimensions; ++i)
      if (length_of(group, dimids[i], &shape[i]) != 0 || shape[i] == 0) return false;
    block.place(element_bytes, start, shape);
    of_block.start = block.start().data();
    of_block.count = block.count().data();
    if (move_in_coupled(group, Verb::get, of_block, varid, block.values().data()) != 0)
      return block.give_up(), false;
    if (!block.contains(start, count)) return false;
  }
  block.copy(start, count, values);
  return true;
}

/// The same as move_in_coupled(), but for small gets of values that do not change any more.
int move_or_copy(const CarriedGroup& group, Verb verb, const DataCall& call, int varid, void* values) {
  if (verb == Verb::get && group->read_blocks && get_of_block(group, call, varid, values)) return 0;
  const int status = move_in_coupled(group, verb, call, varid, values);
  return status == out_of_range ? move_casting(group, verb, call, varid, values) : status;
}

int move_described(const CarriedGroup& group, Verb verb, DataCall call, void* values) {
  if (const int status = find_variable(group, call); status != 0) return status;
  const bool is_atomic = call.external < type::string && type_in_memory(call) < type::string;
  if (is_atomic && !is_convertible(call)) return no_conversion;
  if (group->in_define_mode && (group->mode & mode::classic_model) != 0) return defining;
  if (group->is_writable)
    if (const int status = group->describe(); status != 0) return status;
  const int coupled = group->described->find(group.group, call.varid);
  if (coupled == DescribedDataset::in_shadow) return move_in_shadow(group, verb, call, values);
  if (const auto status = find_status_of_described(group, verb, call)) {
    if (agrees_on_records(group, verb, call)) (void)put_nothing(group);
    return *status;
  }
  const int status = move_or_copy(group, verb, call, coupled, values);
  if (verb == Verb::put && (status == 0 || status == out_of_range))
    group->described->with_values.insert({group.group, call.varid});
  return status;
}

int move(int ncid, Verb verb, DataCall call, void* values) {
  const CarriedGroup group = carried(ncid);
  if (group->is_plain()) return ask_for_values(group, verb, call, values);
  if (group->described) return move_described(group, verb, call, values);
  if (const auto status = find_status(group, verb, call)) return *status;
  const int moved = move_or_copy(group, verb, call, call.varid, values);
  return moved != 0 || verb == Verb::get ? moved : raise_records(group, call);
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
  table.var_par_access = var_par_access;
}

}  // namespace sluice::api::netcdf
