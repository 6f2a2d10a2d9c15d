// Inquiries are the shadow's, but for the length of the growing dimension: the shadow has no records.
#include <mpi.h>

#include <algorithm>

#include "carried_calls.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"

namespace sluice::api::netcdf {

namespace {

// Functions of the table that only pass the call on.
#define SLUICE_PASSED_CALLS(call)                                                                            \
  call(inq_format) call(inq) call(inq_type) call(inq_dimid) call(inq_unlimdim) call(inq_att) call(inq_attid) \
      call(inq_attname) call(inq_varid) call(show_metadata) call(inq_unlimdims) call(inq_grpname)            \
          call(inq_grpname_full) call(inq_varids) call(inq_dimids) call(inq_typeids) call(inq_user_type)     \
              call(inq_typeid) call(def_compound) call(insert_compound) call(insert_array_compound)          \
                  call(inq_compound_field) call(inq_compound_fieldindex) call(def_vlen)                      \
                      call(put_vlen_element) call(get_vlen_element) call(def_enum) call(insert_enum)         \
                          call(inq_enum_member) call(inq_enum_ident) call(def_opaque) call(def_var_deflate)  \
                              call(def_var_fletcher32) call(def_var_chunking) call(def_var_endian)           \
                                  call(def_var_filter) call(set_var_chunk_cache) call(get_var_chunk_cache)   \
                                      call(inq_var_filter_ids) call(inq_var_filter_info)                     \
                                          call(def_var_quantize) call(inq_var_quantize)                      \
                                              call(inq_filter_avail)

int inq_dim(int ncid, int id, char* name, std::size_t* length) {
  const CarriedGroup group = carried(ncid);
  const int status = name == nullptr ? 0 : group.ask("nc_inq_dimname", id, name);
  return status != 0 ? status : length_of(group, id, length);
}

/// The shadow is in memory, which the program did not ask for.
int inq_format_extended(int ncid, int* format, int* mode_of_file) {
  const CarriedGroup group = carried(ncid);
  const int status = group.ask("nc_inq_format_extended", format, mode_of_file);
  if (mode_of_file != nullptr)
    *mode_of_file = (*mode_of_file & ~(mode::diskless | mode::in_memory)) | (group->mode & mode::diskless);
  return status;
}

/// All facts of a variable in one call, which programs make one by one: so only what is asked for is asked
/// for.
int inq_var_all(int ncid, int id, char* name, nc_type* type, int* dimensions, int* dimids, int* attributes,
                int* shuffle, int* deflate, int* level, int* fletcher32, int* contiguous, std::size_t* chunks,
                int* is_unfilled, void* fill_value, int* endianness, unsigned* filter,
                std::size_t* parameters, unsigned* values) {
  const CarriedGroup group = carried(ncid);
  int status = group.ask("nc_inq_var", id, name, type, dimensions, dimids, attributes);
  const auto also = [&](bool is_asked, const auto& inquire) {
    if (status == 0 && is_asked) status = inquire();
  };
  also(shuffle != nullptr || deflate != nullptr || level != nullptr,
       [&] { return group.ask("nc_inq_var_deflate", id, shuffle, deflate, level); });
  also(fletcher32 != nullptr, [&] { return group.ask("nc_inq_var_fletcher32", id, fletcher32); });
  also(contiguous != nullptr || chunks != nullptr,
       [&] { return group.ask("nc_inq_var_chunking", id, contiguous, chunks); });
  also(is_unfilled != nullptr || fill_value != nullptr,
       [&] { return group.ask("nc_inq_var_fill", id, is_unfilled, fill_value); });
  also(endianness != nullptr, [&] { return group.ask("nc_inq_var_endian", id, endianness); });
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
  const int status = carried(ncid).ask(function, parameters..., id);
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
  return ask_for_group("nc_def_grp", ncid, id, name);
}

int rename_grp(int ncid, const char* name) {
  const CarriedGroup group = carried(ncid);
  if (group->described) group->described->note_change();
  return group.ask("nc_rename_grp", name);
}

int inq_grps(int ncid, int* count, int* ids) {
  int groups = 0;
  const int status = carried(ncid).ask("nc_inq_grps", &groups, ids);
  if (status == 0 && count != nullptr) *count = groups;
  for (int i = 0; status == 0 && ids != nullptr && i < groups; ++i) ids[i] = id_for_program(ncid, ids[i]);
  return status;
}

int inq_type_equal(int ncid, nc_type type, int other, nc_type other_type, int* is_equal) {
  const int id = find_carried(other) != nullptr ? carried(other).shadow : other;
  return carried(ncid).ask("nc_inq_type_equal", type, id, other_type, is_equal);
}

/// The shadow's id of the dimension that has records.
int record_dimension_of(const CarriedGroup& group) {
  if (group->described) return group->described->record_dimension();
  int growing = -1;
  return group.ask("nc_inq_unlimdim", &growing) == 0 ? growing : -1;
}

}  // namespace

int length_of(const CarriedGroup& group, int dimid, std::size_t* length) {
  const bool has_records = dimid >= 0 && dimid == record_dimension_of(group);
  std::size_t in_shadow = 0;
  const bool is_shadow_asked = !has_records || !group->described || group->described->has_records_in_shadow();
  int status = is_shadow_asked ? group.ask("nc_inq_dimlen", dimid, &in_shadow) : 0;
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
#define SLUICE_PASS(name) \
  table.name = [](int ncid, auto... parameters) { return carried(ncid).ask("nc_" #name, parameters...); };
  SLUICE_PASSED_CALLS(SLUICE_PASS)
#undef SLUICE_PASS
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
}

}  // namespace sluice::api::netcdf
