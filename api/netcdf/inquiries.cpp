// Inquiries are the shadow's, but for the length of the growing dimension: the shadow has no records.
#include <mpi.h>

#include "carried_calls.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "guard.hpp"

namespace sluice::api::netcdf {

namespace {

// Functions of the table that only pass the call on.
#define SLUICE_PASSED_CALLS(call)                                                                            \
  call(inq_format) call(inq) call(inq_type) call(inq_dimid) call(inq_unlimdim) call(inq_att) call(inq_attid) \
      call(inq_attname) call(inq_varid) call(var_par_access) call(show_metadata) call(inq_unlimdims)         \
          call(inq_grpname) call(inq_grpname_full) call(inq_varids) call(inq_dimids) call(inq_typeids)       \
              call(def_grp) call(rename_grp) call(inq_user_type) call(inq_typeid) call(def_compound)         \
                  call(insert_compound) call(insert_array_compound) call(inq_compound_field)                 \
                      call(inq_compound_fieldindex) call(def_vlen) call(put_vlen_element)                    \
                          call(get_vlen_element) call(def_enum) call(insert_enum) call(inq_enum_member)      \
                              call(inq_enum_ident) call(def_opaque) call(def_var_deflate)                    \
                                  call(def_var_fletcher32) call(def_var_chunking) call(def_var_endian)       \
                                      call(def_var_filter) call(set_var_chunk_cache)                         \
                                          call(get_var_chunk_cache) call(inq_var_filter_ids)                 \
                                              call(inq_var_filter_info) call(def_var_quantize)               \
                                                  call(inq_var_quantize) call(inq_filter_avail)

enum class Passed {
#define SLUICE_NUMBER(name) name,
  SLUICE_PASSED_CALLS(SLUICE_NUMBER)
#undef SLUICE_NUMBER
};

constexpr const char* passed_names[] = {
#define SLUICE_NAME(name) "nc_" #name,
    SLUICE_PASSED_CALLS(SLUICE_NAME)
#undef SLUICE_NAME
};

/// The parameters are those of the member of the table that this function is assigned to.
template <Passed number, class... Parameters>
int pass(int ncid, Parameters... parameters) {
  return carried(ncid).ask(passed_names[static_cast<int>(number)], parameters...);
}

int inq_dim(int ncid, int id, char* name, std::size_t* length) {
  const CarriedDataset& dataset = carried(ncid);
  const int status = name == nullptr ? 0 : dataset.ask("nc_inq_dimname", id, name);
  return status != 0 ? status : length_of(dataset, id, length);
}

/// The shadow is in memory, which the program did not ask for.
int inq_format_extended(int ncid, int* format, int* mode_of_file) {
  const CarriedDataset& dataset = carried(ncid);
  const int status = dataset.ask("nc_inq_format_extended", format, mode_of_file);
  if (mode_of_file != nullptr)
    *mode_of_file = (*mode_of_file & ~(mode::diskless | mode::in_memory)) | (dataset.mode & mode::diskless);
  return status;
}

/// All facts of a variable in one call, which programs make one by one: so only what is asked for is asked
/// for.
int inq_var_all(int ncid, int id, char* name, nc_type* type, int* dimensions, int* dimids, int* attributes,
                int* shuffle, int* deflate, int* level, int* fletcher32, int* contiguous, std::size_t* chunks,
                int* is_unfilled, void* fill_value, int* endianness, unsigned* filter,
                std::size_t* parameters, unsigned* values) {
  const CarriedDataset& dataset = carried(ncid);
  int status = dataset.ask("nc_inq_var", id, name, type, dimensions, dimids, attributes);
  const auto also = [&](bool is_asked, const auto& inquire) {
    if (status == 0 && is_asked) status = inquire();
  };
  also(shuffle != nullptr || deflate != nullptr || level != nullptr,
       [&] { return dataset.ask("nc_inq_var_deflate", id, shuffle, deflate, level); });
  also(fletcher32 != nullptr, [&] { return dataset.ask("nc_inq_var_fletcher32", id, fletcher32); });
  also(contiguous != nullptr || chunks != nullptr,
       [&] { return dataset.ask("nc_inq_var_chunking", id, contiguous, chunks); });
  also(is_unfilled != nullptr || fill_value != nullptr,
       [&] { return dataset.ask("nc_inq_var_fill", id, is_unfilled, fill_value); });
  also(endianness != nullptr, [&] { return dataset.ask("nc_inq_var_endian", id, endianness); });
  also(filter != nullptr || parameters != nullptr || values != nullptr,
       [&] { return dataset.ask("nc_inq_var_filter", id, filter, parameters, values); });
  return status;
}

/// The program's id of what the shadow calls by an id of its own: a group is the lower half.
int id_for_program(const CarriedDataset& dataset, int ncid, int of_shadow) noexcept {
  constexpr unsigned group_bits = 0xffff;
  const auto shadow = static_cast<unsigned>(of_shadow);
  if ((shadow & ~group_bits) != (static_cast<unsigned>(dataset.shadow) & ~group_bits)) return of_shadow;
  return static_cast<int>((static_cast<unsigned>(ncid) & ~group_bits) | (shadow & group_bits));
}

/// `ask` asks the shadow for the id of a group.
template <class Ask>
int inq_group(int ncid, int* id, const Ask& ask) {
  const CarriedDataset& dataset = carried(ncid);
  const int status = ask(dataset);
  if (status == 0 && id != nullptr) *id = id_for_program(dataset, ncid, *id);
  return status;
}

int inq_ncid(int ncid, const char* name, int* id) {
  return inq_group(ncid, id,
                   [&](const CarriedDataset& dataset) { return dataset.ask("nc_inq_ncid", name, id); });
}

int inq_grp_full_ncid(int ncid, const char* name, int* id) {
  return inq_group(
      ncid, id, [&](const CarriedDataset& dataset) { return dataset.ask("nc_inq_grp_full_ncid", name, id); });
}

int inq_grp_parent(int ncid, int* id) {
  return inq_group(ncid, id,
                   [&](const CarriedDataset& dataset) { return dataset.ask("nc_inq_grp_parent", id); });
}

int inq_grps(int ncid, int* count, int* ids) {
  const CarriedDataset& dataset = carried(ncid);
  int groups = 0;
  const int status = dataset.ask("nc_inq_grps", &groups, ids);
  if (status == 0 && count != nullptr) *count = groups;
  for (int i = 0; status == 0 && ids != nullptr && i < groups; ++i)
    ids[i] = id_for_program(dataset, ncid, ids[i]);
  return status;
}

int inq_type_equal(int ncid, nc_type type, int other, nc_type other_type, int* is_equal) {
  const CarriedDataset* const other_dataset = find_carried(other);
  return carried(ncid).ask("nc_inq_type_equal", type,
                           other_dataset != nullptr ? other_dataset->shadow : other, other_type, is_equal);
}

}  // namespace

int length_of(const CarriedDataset& dataset, int dimid, std::size_t* length) {
  int growing = -1;
  int status = dataset.ask("nc_inq_dimlen", dimid, length);
  if (status == 0) status = dataset.ask("nc_inq_unlimdim", &growing);
  if (status != 0 || dimid != growing || length == nullptr) return status;
  MPI_Offset records = 0;
  status = guard([&] {
    const DatasetUse use(dataset.coupled);
    if (use->size == 1) (void)follow_writer(*use);  // a reader need not call nc_sync before it asks
    return ncmpi::inq_dimlen(dataset.coupled, dimid, &records);
  });
  *length = static_cast<std::size_t>(records);
  return status;
}

void add_inquiries(DispatchTable& table) noexcept {
#define SLUICE_PASS(name) table.name = pass<Passed::name>;
  SLUICE_PASSED_CALLS(SLUICE_PASS)
#undef SLUICE_PASS
  table.inq_dim = inq_dim;
  table.inq_format_extended = inq_format_extended;
  table.inq_var_all = inq_var_all;
  table.inq_ncid = inq_ncid;
  table.inq_grp_full_ncid = inq_grp_full_ncid;
  table.inq_grp_parent = inq_grp_parent;
  table.inq_grps = inq_grps;
  table.inq_type_equal = inq_type_equal;
}

}  // namespace sluice::api::netcdf
