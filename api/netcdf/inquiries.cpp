// Inquiries are the shadow's, but for the length of the growing dimension: the shadow has no records.
#include <mpi.h>

#include <algorithm>

#include "carried_calls.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"

namespace sluice::api::netcdf {

namespace {

// Functions of the table that only pass the call on. Their pointers are to one value, or to a name.
#define SLUICE_PASSED_INQUIRIES(call)                                                                        \
  call(inq_format) call(inq) call(inq_type) call(inq_dimid) call(inq_unlimdim) call(inq_att) call(inq_attid) \
      call(inq_attname) call(inq_varid) call(inq_grpname) call(inq_grpname_full) call(inq_user_type)         \
          call(inq_typeid) call(inq_compound_fieldindex) call(inq_enum_ident) call(inq_var_quantize)         \
              call(inq_filter_avail)
#define SLUICE_PASSED_DEFINITIONS(call)                                                   \
  call(def_compound) call(insert_compound) call(def_vlen) call(def_enum) call(def_opaque) \
      call(def_var_deflate) call(def_var_fletcher32) call(def_var_endian) call(def_var_quantize)
// Not remembered: what they give has another length, or what they do is seen elsewhere.
#define SLUICE_PASSED_CALLS(call)                                                            \
  call(show_metadata) call(inq_compound_field) call(put_vlen_element) call(get_vlen_element) \
      call(inq_enum_member) call(get_var_chunk_cache)

// Definitions with lists.

int insert_array_compound(int ncid, nc_type type, const char* name, std::size_t offset, nc_type field,
                          int dimensions, const int* lengths) {
  const std::size_t count = dimensions > 0 ? static_cast<std::size_t>(dimensions) : 0;
  return carried(ncid).define("nc_insert_array_compound", type, name, offset, field, dimensions,
                              Values<const int, std::size_t>{lengths, &count});
}

int insert_enum(int ncid, nc_type type, const char* name, const void* value) {
  const CarriedGroup group = carried(ncid);
  nc_type base = 0;
  (void)group.inquire("nc_inq_user_type", type, static_cast<char*>(nullptr),
                      static_cast<std::size_t*>(nullptr), &base, static_cast<std::size_t*>(nullptr),
                      static_cast<int*>(nullptr));
  const std::size_t bytes = bytes_of_value(base);
  return group.define("nc_insert_enum", type, name, Values<const void, std::size_t>{value, &bytes});
}

int def_var_chunking(int ncid, int id, int storage, DispatchTable::Sizes lengths) {
  const CarriedGroup group = carried(ncid);
  int dimensions = 0;
  (void)group.inquire("nc_inq_varndims", id, &dimensions);
  return group.define("nc_def_var_chunking", id, storage,
                      Values<const std::size_t, int>{lengths, &dimensions});
}

int def_var_filter(int ncid, int id, unsigned filter, std::size_t count, const unsigned* values) {
  constexpr std::size_t most_values = 1024;
  const CarriedGroup group = carried(ncid);
  if (count > most_values) return group.define_anew("nc_def_var_filter", id, filter, count, values);
  return group.define("nc_def_var_filter", id, filter, count,
                      Values<const unsigned, std::size_t>{values, &count});
}

/// A shadow that is only read is kept for later datasets, as it was opened.
int set_var_chunk_cache(int ncid, int id, std::size_t bytes, std::size_t chunks, float preemption) {
  const CarriedGroup group = carried(ncid);
  if (group->described) group->described->is_altered = true;
  return group.define("nc_set_var_chunk_cache", id, bytes, chunks, preemption);
}

// Inquiries with lists.

/// A function that gives a number, and that many ids.
template <class... Arguments>
int list_ids(int ncid, const char* name, int* count, int* ids, const Arguments&... more) {
  const CarriedGroup group = carried(ncid);
  int found = 0;
  const int status = group.inquire(name, &found, Values<int, int>{ids, &found}, more...);
  if (status == 0 && count != nullptr) *count = found;
  return status;
}

int inq_unlimdims(int ncid, int* count, int* ids) {
  return list_ids(ncid, "nc_inq_unlimdims", count, ids);
}

int inq_varids(int ncid, int* count, int* ids) {
  return list_ids(ncid, "nc_inq_varids", count, ids);
}

int inq_dimids(int ncid, int* count, int* ids, int with_parents) {
  return list_ids(ncid, "nc_inq_dimids", count, ids, with_parents);
}

int inq_typeids(int ncid, int* count, int* ids) {
  return list_ids(ncid, "nc_inq_typeids", count, ids);
}

/// The values of one filter, or the ids of all.
template <class... Arguments>
int list_filters(int ncid, const char* name, int id, std::size_t* count, unsigned* values,
                 Arguments... more) {
  std::size_t found = 0;
  const Values<unsigned, std::size_t> list{values, &found};
  const int status = carried(ncid).inquire(name, id, more..., &found, list);
  if (status == 0 && count != nullptr) *count = found;
  return status;
}

int inq_var_filter_ids(int ncid, int id, std::size_t* count, unsigned* ids) {
  return list_filters(ncid, "nc_inq_var_filter_ids", id, count, ids);
}

int inq_var_filter_info(int ncid, int id, unsigned filter, std::size_t* count, unsigned* values) {
  return list_filters(ncid, "nc_inq_var_filter_info", id, count, values, filter);
}

int inq_dim(int ncid, int id, char* name, std::size_t* length) {
  const CarriedGroup group = carried(ncid);
  const int status = name == nullptr ? 0 : group.inquire("nc_inq_dimname", id, name);
  return status != 0 ? status : length_of(group, id, length);
}

/// The shadow is in memory, which the program did not ask for.
int inq_format_extended(int ncid, int* format, int* mode_of_file) {
  const CarriedGroup group = carried(ncid);
  const int status = group.inquire("nc_inq_format_extended", format, mode_of_file);
  if (mode_of_file != nullptr)
    *mode_of_file = (*mode_of_file & ~(mode::diskless | mode::in_memory)) | (group->mode & mode::diskless);
  return status;
}

int inquire_chunks(const CarriedGroup& group, int id, int dimensions, int* storage, std::size_t* chunks) {
  constexpr int chunked = 0;
  int found = chunked;
  int status = group.inquire("nc_inq_var_chunking", id, &found, static_cast<std::size_t*>(nullptr));
  if (status == 0 && chunks != nullptr && found == chunked)
    status = group.inquire("nc_inq_var_chunking", id, &found, Values<std::size_t, int>{chunks, &dimensions});
  if (status == 0 && storage != nullptr) *storage = found;
  return status;
}

/// Where nothing is filled, netCDF gives no value.
int inquire_fill(const CarriedGroup& group, int id, nc_type type, int* is_unfilled, void* value) {
  int found = 0;
  const std::size_t bytes = bytes_of_value(type);
  int status = group.inquire("nc_inq_var_fill", id, &found, Values<void, std::size_t>{});
  if (status == 0 && value != nullptr && found == 0)
    status = bytes == 0
                 ? group.ask("nc_inq_var_fill", id, &found, value)
                 : group.inquire("nc_inq_var_fill", id, &found, Values<void, std::size_t>{value, &bytes});
  if (status == 0 && is_unfilled != nullptr) *is_unfilled = found;
  return status;
}

int inquire_deflate(const CarriedGroup& group, int id, int* shuffle, int* deflate, int* level) {
  int found = 0;
  int* const none = nullptr;
  int status = group.inquire("nc_inq_var_deflate", id, shuffle, &found, none);
  if (status == 0 && level != nullptr && found != 0)
    status = group.inquire("nc_inq_var_deflate", id, none, none, level);
  if (status == 0 && deflate != nullptr) *deflate = found;
  return status;
}

/// All facts of a variable in one call, which programs make one by one: so only what is asked for is asked
/// for.
int inq_var_all(int ncid, int id, char* name, nc_type* type, int* dimensions, int* dimids, int* attributes,
                int* shuffle, int* deflate, int* level, int* fletcher32, int* contiguous, std::size_t* chunks,
                int* is_unfilled, void* fill_value, int* endianness, unsigned* filter,
                std::size_t* parameters, unsigned* values) {
  const CarriedGroup group = carried(ncid);
  int found = 0;
  nc_type found_type = 0;
  int status = group.inquire("nc_inq_var", id, name, &found_type, &found, Values<int, int>{dimids, &found},
                             attributes);
  if (status == 0 && type != nullptr) *type = found_type;
  if (status == 0 && dimensions != nullptr) *dimensions = found;
  const auto also = [&](bool is_asked, const auto& inquire) {
    if (status == 0 && is_asked) status = inquire();
  };
  also(shuffle != nullptr || deflate != nullptr || level != nullptr,
       [&] { return inquire_deflate(group, id, shuffle, deflate, level); });
  also(fletcher32 != nullptr, [&] { return group.inquire("nc_inq_var_fletcher32", id, fletcher32); });
  also(contiguous != nullptr || chunks != nullptr,
       [&] { return inquire_chunks(group, id, found, contiguous, chunks); });
  also(is_unfilled != nullptr || fill_value != nullptr,
       [&] { return inquire_fill(group, id, found_type, is_unfilled, fill_value); });
  also(endianness != nullptr, [&] { return group.inquire("nc_inq_var_endian", id, endianness); });
  also(filter != nullptr || parameters != nullptr || values != nullptr,
       [&] { return group.ask("nc_inq_var_filter", id, filter, parameters, values); });
  return status;
}

/// The program's id of what the shadow calls by an id of its own: a group is the lower half.
int id_for_program(int ncid, int of_shadow) noexcept {
  return (ncid & ~group_bits) | (of_shadow & group_bits);
}

/// A function of the program's netCDF that gives the id of a group.
template <class... Parameters>
int ask_for_group(const char* function, int ncid, int* id, Parameters... parameters) {
  const int status = carried(ncid).inquire(function, parameters..., id);
  if (status == 0 && id != nullptr) *id = id_for_program(ncid, *id);
  return status;
}

int inq_ncid(int ncid, const char* name, int* id) {
  return ask_for_group("nc_inq_ncid", ncid, id, name);
}

int inq_grp_full_ncid(int ncid, const char* name, int* id) {
  return ask_for_group("nc_inq_grp_full_ncid", ncid, id, name);
}

int inq_grp_parent(int ncid, int* id) {
  return ask_for_group("nc_inq_grp_parent", ncid, id);
}

int def_grp(int ncid, const char* name, int* id) {
  const int status = carried(ncid).define("nc_def_grp", name, id);
  if (status == 0 && id != nullptr) *id = id_for_program(ncid, *id);
  return status;
}

int rename_grp(int ncid, const char* name) {
  const CarriedGroup group = carried(ncid);
  if (group->described) group->described->note_change();
  return group.define("nc_rename_grp", name);
}

int inq_grps(int ncid, int* count, int* ids) {
  int groups = 0;
  const int status = carried(ncid).inquire("nc_inq_grps", &groups, Values<int, int>{ids, &groups});
  if (status == 0 && count != nullptr) *count = groups;
  for (int i = 0; status == 0 && ids != nullptr && i < groups; ++i) ids[i] = id_for_program(ncid, ids[i]);
  return status;
}

int inq_type_equal(int ncid, nc_type type, int other, nc_type other_type, int* is_equal) {
  CarriedDataset* const carried_other = find_carried(other);
  const int status = carried_other == nullptr ? 0 : carried_other->make_real();
  if (status != 0) return status;
  const int id = carried_other != nullptr ? carried(other).shadow() : other;
  return carried(ncid).ask("nc_inq_type_equal", type, id, other_type, is_equal);
}

/// The shadow's id of the dimension that has records.
int record_dimension_of(const CarriedGroup& group) {
  if (group->described) return group->described->record_dimension();
  int growing = -1;
  return group.inquire("nc_inq_unlimdim", &growing) == 0 ? growing : -1;
}

}  // namespace

int length_of(const CarriedGroup& group, int dimid, std::size_t* length) {
  const bool has_records = dimid >= 0 && !group->is_plain() && dimid == record_dimension_of(group);
  std::size_t in_shadow = 0;
  const bool is_shadow_asked = !has_records || !group->described || group->described->has_records_in_shadow();
  int status = is_shadow_asked ? group.inquire("nc_inq_dimlen", dimid, &in_shadow) : 0;
  MPI_Offset records = 0;
  if (status == 0 && has_records)
    status = guard([&] {
      const DatasetUse coupled(group->coupled);
      if (coupled->size == 1) (void)follow_writer(*coupled);  // a reader need not call nc_sync before it asks
      refresh_record_count(*coupled);
      records = coupled->header.record_count;
      return 0;
    });
  if (status == 0 && length != nullptr) *length = std::max(in_shadow, static_cast<std::size_t>(records));
  return status;
}

void add_inquiries(DispatchTable& table) noexcept {
#define SLUICE_PASS_BY(how, name) \
  table.name = [](int ncid, auto... parameters) { return carried(ncid).how("nc_" #name, parameters...); };
#define SLUICE_PASS(name) SLUICE_PASS_BY(ask, name)
#define SLUICE_INQUIRE(name) SLUICE_PASS_BY(inquire, name)
#define SLUICE_DEFINE(name) SLUICE_PASS_BY(define, name)
  SLUICE_PASSED_CALLS(SLUICE_PASS)
  SLUICE_PASSED_INQUIRIES(SLUICE_INQUIRE)
  SLUICE_PASSED_DEFINITIONS(SLUICE_DEFINE)
#undef SLUICE_PASS_BY
#undef SLUICE_PASS
#undef SLUICE_INQUIRE
#undef SLUICE_DEFINE
  table.inq_dim = inq_dim;
  table.inq_format_extended = inq_format_extended;
  table.inq_var_all = inq_var_all;
  table.def_grp = def_grp;
  table.rename_grp = rename_grp;
  table.inq_ncid = inq_ncid;
  table.inq_grp_full_ncid = inq_grp_full_ncid;
  table.inq_grp_parent = inq_grp_parent;
  table.inq_grps = inq_grps;
  table.inq_type_equal = inq_type_equal;
  table.insert_array_compound = insert_array_compound;
  table.insert_enum = insert_enum;
  table.def_var_chunking = def_var_chunking;
  table.def_var_filter = def_var_filter;
  table.set_var_chunk_cache = set_var_chunk_cache;
  table.inq_unlimdims = inq_unlimdims;
  table.inq_varids = inq_varids;
  table.inq_dimids = inq_dimids;
  table.inq_typeids = inq_typeids;
  table.inq_var_filter_ids = inq_var_filter_ids;
  table.inq_var_filter_info = inq_var_filter_info;
}

}  // namespace sluice::api::netcdf
