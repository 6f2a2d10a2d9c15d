// Definitions of dimensions, variables and fill modes. The order of the checks is PnetCDF's
// (tests/differential/definitions.c).
#include <cstring>
#include <limits>
#include <span>

#include "checks.hpp"
#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api::ncmpi {
namespace {

constexpr int fill_on = 0;           // NC_FILL
constexpr int fill_off = 0x100;      // NC_NOFILL
constexpr MPI_Offset unlimited = 0;  // NC_UNLIMITED

[[noreturn]] void throw_in_use(const std::string& name) {
  throw Error(NC_ENAMEINUSE, "the name '" + name + "' is in use");
}

/// The longest dimension that can be defined, as in PnetCDF 1.15.
MPI_Offset longest_dimension(formats::Version version) {
  if (version == formats::Version::cdf5) return std::numeric_limits<MPI_Offset>::max();
  return std::numeric_limits<std::int32_t>::max();
}

void check_dimension_length(const Dataset& dataset, MPI_Offset length) {
  if (length < 0) throw Error(NC_EDIMSIZE, "a dimension's length cannot be negative");
  if (length > longest_dimension(dataset.header.version))
    throw Error(NC_EDIMSIZE, "a dimension of length " + std::to_string(length) +
                                 " needs a larger format: create " + dataset.path + " with NC_64BIT_DATA");
  if (length == unlimited && dataset.header.record_dimension() >= 0)
    throw Error(NC_EUNLIMIT, dataset.path + " has a record dimension already");
}

void check_dimension_list(int ndims, const int* dimids) {
  if (ndims < 0) throw Error(NC_EINVAL, "a variable cannot have " + std::to_string(ndims) + " dimensions");
  if (ndims > 0 && dimids == nullptr) throw Error(NC_EINVAL, "the array of dimension ids is a null pointer");
}

void check_dimids(const Dataset& dataset, std::span<const int> dimids) {
  for (std::size_t i = 0; i < dimids.size(); ++i) {
    require_dimension(dataset, dimids[i]);
    if (i > 0 && dataset.header.dimension(dimids[i]).is_record)
      throw Error(NC_EUNLIMPOS, "the record dimension must be the first dimension of a variable");
  }
}

/// As in PnetCDF, rejects a variable at once if no CDF-5 file can hold it. In the other formats the last
/// variable may be larger, so only enddef can check the size.
void check_variable_size(const Dataset& dataset, const formats::Variable& variable) {
  if (dataset.header.version == formats::Version::cdf5)
    static_cast<void>(formats::data_bytes(dataset.header, variable));
}

/// In data mode a name must not grow: the header has no space for it.
void check_rename_length(const Dataset& dataset, const std::string& from, const std::string& to) {
  if (!dataset.in_define_mode && to.size() > from.size())
    throw Error(NC_ENOTINDEFINE,
                "the new name '" + to + "' is longer than '" + from + "': call ncmpi_redef first");
}

void set_fill_value(Dataset& dataset, int varid, const void* value) {
  auto& variable = dataset.header.variable(varid);
  if (is_old_variable(dataset, varid))
    throw Error(NC_ELATEFILL,
                "the variable '" + variable.name + "' already has data: its fill value cannot change");
  const auto* bytes = static_cast<const std::byte*>(value);
  variable.attributes.put({"_FillValue", variable.type, 1,
                           std::vector<std::byte>(bytes, bytes + formats::size_of(variable.type))});
}

}  // namespace

int def_dim(int ncid, const char* name, MPI_Offset len, int* idp) {
  const DatasetUse dataset(ncid);
  auto& header = dataset->header;
  std::string stored;
  check_collectively(
      *dataset,
      [&] {
        require_define_mode(*dataset);
        stored = checked_name(name);
        check_dimension_length(*dataset, len);
        if (header.find_dimension(stored) >= 0) throw_in_use(stored);
      },
      [&] {
        return std::vector{argument(NC_EMULTIDEFINE_DIM_NAME, name), argument(NC_EMULTIDEFINE_DIM_SIZE, len)};
      });
  const int id = header.add_dimension({stored, len, len == unlimited});
  if (idp != nullptr) *idp = id;
  return NC_NOERR;
}

int def_var(int ncid, const char* name, nc_type xtype, int ndims, const int* dimidsp, int* varidp) {
  const DatasetUse dataset(ncid);
  auto& header = dataset->header;
  formats::Variable variable;
  check_collectively(
      *dataset,
      [&] {
        require_define_mode(*dataset);
        variable.name = checked_name(name);
        require_type(*dataset, xtype);
        check_dimension_list(ndims, dimidsp);
        if (header.find_variable(variable.name) >= 0) throw_in_use(variable.name);
        check_dimids(*dataset, {dimidsp, static_cast<std::size_t>(ndims)});
        variable.type = static_cast<formats::Type>(xtype);
        variable.dimids.assign(dimidsp, dimidsp + ndims);
        check_variable_size(*dataset, variable);
      },
      [&] {
        const std::string dimids(reinterpret_cast<const char*>(dimidsp),
                                 sizeof(int) * static_cast<std::size_t>(ndims));
        return std::vector{
            argument(NC_EMULTIDEFINE_VAR_NAME, name), argument(NC_EMULTIDEFINE_VAR_TYPE, xtype),
            argument(NC_EMULTIDEFINE_VAR_NDIMS, ndims), argument(NC_EMULTIDEFINE_VAR_DIMIDS, dimids)};
      });
  variable.no_fill = !dataset->is_fill;
  const int id = header.add_variable(std::move(variable));
  if (varidp != nullptr) *varidp = id;
  return NC_NOERR;
}

int rename_dim(int ncid, int dimid, const char* name) {
  const DatasetUse dataset(ncid);
  auto& header = dataset->header;
  std::string stored;
  check_collectively(
      *dataset,
      [&] {
        require_writable(*dataset);
        stored = checked_name(name);
        require_dimension(*dataset, dimid);
        const int holder = header.find_dimension(stored);
        if (holder >= 0 && holder != dimid) throw_in_use(stored);
        check_rename_length(*dataset, header.dimension(dimid).name, stored);
      },
      [&] {
        return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, dimid),
                           argument(NC_EMULTIDEFINE_DIM_NAME, name)};
      });
  header.rename_dimension(dimid, stored);
  metadata_changed(*dataset);
  return NC_NOERR;
}

int rename_var(int ncid, int varid, const char* name) {
  const DatasetUse dataset(ncid);
  auto& header = dataset->header;
  std::string stored;
  check_collectively(
      *dataset,
      [&] {
        require_writable(*dataset);
        require_variable(*dataset, varid);
        stored = checked_name(name);
        if (header.find_variable(stored) >= 0) throw_in_use(stored);
        check_rename_length(*dataset, header.variable(varid).name, stored);
      },
      [&] {
        return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, varid),
                           argument(NC_EMULTIDEFINE_VAR_NAME, name)};
      });
  header.rename_variable(varid, stored);
  metadata_changed(*dataset);
  return NC_NOERR;
}

int set_fill(int ncid, int fillmode, int* old_modep) {
  const DatasetUse dataset(ncid);
  check_collectively(
      *dataset,
      [&] {
        require_writable(*dataset);
        require_define_mode(*dataset);
        if (fillmode != fill_on && fillmode != fill_off)
          throw Error(NC_EINVAL, "the fill mode is neither NC_FILL nor NC_NOFILL");
      },
      [&] { return std::vector{argument(NC_EMULTIDEFINE_FILL_MODE, fillmode)}; });
  if (old_modep != nullptr) *old_modep = dataset->is_fill ? fill_on : fill_off;
  dataset->is_fill = fillmode == fill_on;
  for (int id = 0; id < dataset->header.variable_count(); ++id)
    dataset->header.variable(id).no_fill = !dataset->is_fill;
  return NC_NOERR;
}

int def_var_fill(int ncid, int varid, int no_fill, const void* fill_value) {
  const DatasetUse dataset(ncid);
  check_collectively(
      *dataset,
      [&] {
        require_define_mode(*dataset);
        require_variable(*dataset, varid);
      },
      [&] {
        const auto bytes = fill_value == nullptr ? 0 : formats::size_of(dataset->header.variable(varid).type);
        return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, varid),
                           argument(NC_EMULTIDEFINE_FNC_ARGS, no_fill),
                           argument(NC_EMULTIDEFINE_VAR_FILL_VALUE,
                                    std::string(static_cast<const char*>(fill_value), bytes))};
      });
  dataset->header.variable(varid).no_fill = no_fill != 0;
  if (no_fill == 0 && fill_value != nullptr) set_fill_value(*dataset, varid, fill_value);
  return NC_NOERR;
}

}  // namespace sluice::api::ncmpi
