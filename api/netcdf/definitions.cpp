// What is defined goes to the shadow first: it makes netCDF's checks. What it has taken is defined in the
// coupled dataset, too, where ids are the same, because both count from 0.
#include <mpi.h>

#include <algorithm>
#include <array>

#include "carried_calls.hpp"
#include "functions.hpp"
#include "guard.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::api::netcdf {

namespace {

constexpr std::size_t least_alignment = 4;

/// The first of two results that is an error.
int worse(int first, int second) noexcept {
  return first != 0 ? first : second;
}

/// What the shadow has taken is also done to the coupled dataset.
template <class Call>
int also(int status_of_shadow, const Call& call) {
  return status_of_shadow != 0 ? status_of_shadow : guard(call);
}

int redef(int ncid) {
  CarriedDataset& dataset = carried(ncid);
  const int status = also(dataset.ask("nc_redef"), [&] { return ncmpi::redef(dataset.coupled); });
  if (status == 0) dataset.in_define_mode = true;
  return status;
}

/// The shadow has no data, so nothing may be filled or moved there. Space after its header, once, lets
/// definitions follow.
int end_definitions_of_shadow(const CarriedDataset& dataset) {
  const std::size_t header_space = dataset.has_placed_variables ? 0 : dataset.space_after_header();
  int mode = 0;
  int ignored = 0;
  int status = dataset.ask("nc_set_fill", no_fill, &mode);
  if (status != 0) return status;
  status = dataset.ask("nc__enddef", header_space, least_alignment, std::size_t{0}, least_alignment);
  return worse(status, dataset.ask("nc_set_fill", mode, &ignored));
}

int enddef(int ncid, std::size_t h_minfree, std::size_t v_align, std::size_t v_minfree, std::size_t r_align) {
  CarriedDataset& dataset = carried(ncid);
  if (!dataset.in_define_mode) return dataset.ask("nc__enddef", h_minfree, v_align, v_minfree, r_align);
  const auto aligned = [](std::size_t bytes) {
    return static_cast<MPI_Offset>(std::max(bytes, least_alignment));
  };
  int status =
      also(end_definitions_of_shadow(dataset), [&] {  // images and kept files are laid out as netCDF's
        return ncmpi::enddef_aligned(dataset.coupled, static_cast<MPI_Offset>(h_minfree), aligned(v_align),
                                     static_cast<MPI_Offset>(v_minfree), aligned(r_align));
      });
  if (status != 0) return status;
  dataset.in_define_mode = false;
  int variables = 0;
  status = dataset.ask("nc_inq_nvars", &variables);
  dataset.has_placed_variables = variables > 0;
  return status;
}

int sync(int ncid) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_sync"), [&] { return ncmpi::sync(dataset.coupled); });
}

/// Nothing of a shadow is kept, so it needs no fill values at the end.
int end_shadow(const CarriedDataset& dataset) {
  return dataset.is_writable ? dataset.ask("nc_abort") : dataset.ask("nc_close");
}

int close(int ncid, void*) {
  CarriedDataset& dataset = carried(ncid);
  int status = dataset.in_define_mode ? enddef(ncid, 0, 4, 0, 4) : 0;
  const int coupled = dataset.coupled;
  status = worse(status, guard([&] { return ncmpi::close(coupled); }));
  status = worse(status, end_shadow(dataset));
  remove_carried(ncid);
  return status;
}

int abort(int ncid) {
  CarriedDataset& dataset = carried(ncid);
  const int coupled = dataset.coupled;
  const int status = guard([&] { return ncmpi::abort(coupled); });
  const int of_shadow = end_shadow(dataset);
  remove_carried(ncid);
  return worse(status, of_shadow);
}

int set_fill(int ncid, int mode, int* old_mode) {
  return carried(ncid).ask("nc_set_fill", mode, old_mode);
}

int def_dim(int ncid, const char* name, std::size_t length, int* id) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_def_dim", name, length, id), [&] {
    return ncmpi::def_dim(dataset.coupled, name, static_cast<MPI_Offset>(length), nullptr);
  });
}

int rename_dim(int ncid, int id, const char* name) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_rename_dim", id, name),
              [&] { return ncmpi::rename_dim(dataset.coupled, id, name); });
}

int def_var(int ncid, const char* name, nc_type type, int dimensions, const int* dimids, int* id) {
  CarriedDataset& dataset = carried(ncid);
  int coupled_id = 0;
  return also(dataset.ask("nc_def_var", name, type, dimensions, dimids, id),
              [&] { return ncmpi::def_var(dataset.coupled, name, type, dimensions, dimids, &coupled_id); });
}

int rename_var(int ncid, int id, const char* name) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_rename_var", id, name),
              [&] { return ncmpi::rename_var(dataset.coupled, id, name); });
}

int def_var_fill(int ncid, int id, int is_off, const void* value) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_def_var_fill", id, is_off, value),
              [&] { return ncmpi::def_var_fill(dataset.coupled, id, is_off, value); });
}

int rename_att(int ncid, int varid, const char* name, const char* other) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_rename_att", varid, name, other),
              [&] { return ncmpi::rename_att(dataset.coupled, varid, name, other); });
}

int del_att(int ncid, int varid, const char* name) {
  CarriedDataset& dataset = carried(ncid);
  return also(dataset.ask("nc_del_att", varid, name),
              [&] { return ncmpi::del_att(dataset.coupled, varid, name); });
}

/// The names of netCDF's functions for values of a type in memory; by the type's number.
constexpr std::array<const char*, 13> put_functions{
    "nc_put_att",          "nc_put_att_schar",     "nc_put_att_text",  "nc_put_att_short",  "nc_put_att_int",
    "nc_put_att_float",    "nc_put_att_double",    "nc_put_att_uchar", "nc_put_att_ushort", "nc_put_att_uint",
    "nc_put_att_longlong", "nc_put_att_ulonglong", "nc_put_att_string"};
constexpr std::array<const char*, 13> get_functions{
    "nc_get_att",          "nc_get_att_schar",     "nc_get_att_text",  "nc_get_att_short",  "nc_get_att_int",
    "nc_get_att_float",    "nc_get_att_double",    "nc_get_att_uchar", "nc_get_att_ushort", "nc_get_att_uint",
    "nc_get_att_longlong", "nc_get_att_ulonglong", "nc_get_att_string"};

bool has_function(nc_type memory) noexcept {
  return memory > type::own && memory <= type::string;
}

/// Copies the attribute as the shadow has stored it.
int copy_attribute(const CarriedDataset& dataset, int varid, const char* name) {
  nc_type external = 0;
  std::size_t count = 0;
  int status = dataset.ask("nc_inq_att", varid, name, &external, &count);
  if (status != 0) return status;
  return guard([&] {
    const auto bytes = count * formats::size_of(static_cast<formats::Type>(external));
    std::vector<std::byte> values(bytes + 1);
    status = dataset.ask("nc_get_att", varid, name, static_cast<void*>(values.data()));
    if (status != 0) return status;
    return ncmpi::put_att(dataset.coupled, varid, name, external, static_cast<MPI_Offset>(count),
                          values.data());
  });
}

int put_att(int ncid, int varid, const char* name, nc_type external, std::size_t count, const void* values,
            nc_type memory) {
  constexpr int out_of_range = -60;  // NC_ERANGE: the attribute is there
  const CarriedDataset& dataset = carried(ncid);
  const char* const function =
      has_function(memory) ? put_functions[static_cast<std::size_t>(memory)] : "nc_put_att";
  const bool has_type = memory != type::text && memory != type::string;
  // A put of text or strings says no external type: netCDF compares it before the call comes here.
  const int status = has_type ? dataset.ask(function, varid, name, external, count, values)
                              : dataset.ask(function, varid, name, count, values);
  if (status != 0 && status != out_of_range) return status;
  return worse(copy_attribute(dataset, varid, name), status);
}

int get_att(int ncid, int varid, const char* name, void* values, nc_type memory) {
  const CarriedDataset& dataset = carried(ncid);
  return dataset.ask(has_function(memory) ? get_functions[static_cast<std::size_t>(memory)] : "nc_get_att",
                     varid, name, values);
}

}  // namespace

void add_definitions(DispatchTable& table) noexcept {
  table.redef = redef;
  table.enddef = enddef;
  table.sync = sync;
  table.abort = abort;
  table.close = close;
  table.set_fill = set_fill;
  table.def_dim = def_dim;
  table.rename_dim = rename_dim;
  table.def_var = def_var;
  table.rename_var = rename_var;
  table.def_var_fill = def_var_fill;
  table.rename_att = rename_att;
  table.del_att = del_att;
  table.put_att = put_att;
  table.get_att = get_att;
}

}  // namespace sluice::api::netcdf
