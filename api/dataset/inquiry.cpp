// Inquiries: they are local, and every result pointer may be null.
#include <algorithm>
#include <cstring>

#include "checks.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "give.hpp"
#include "hints.hpp"
#include "sluice/formats/cdf.hpp"

namespace sluice::api::ncmpi {
namespace {

/// Adds a zero at the end; the user's buffer has NC_MAX_NAME + 1 bytes.
void give_text(char* result, const std::string& text) {
  if (result != nullptr) std::memcpy(result, text.c_str(), text.size() + 1);
}

const formats::Variable& variable_of(const Dataset& dataset, int varid) {
  require_variable(dataset, varid);
  return dataset.header.variable(varid);
}

std::int64_t length_of(Dataset& dataset, int dimid) {
  const auto& dimension = dataset.header.dimension(dimid);
  if (!dimension.is_record) return dimension.length;
  refresh_record_count(dataset);
  return dataset.header.record_count;
}

int record_variable_count(const formats::Header& header) {
  int count = 0;
  for (int id = 0; id < header.variable_count(); ++id) count += header.is_record_variable(id) ? 1 : 0;
  return count;
}

}  // namespace

int inq(int ncid, int* ndimsp, int* nvarsp, int* ngattsp, int* unlimdimidp) {
  const DatasetUse dataset(ncid);
  give(ndimsp, dataset->header.dimension_count());
  give(nvarsp, dataset->header.variable_count());
  give(ngattsp, dataset->header.attributes.size());
  give(unlimdimidp, dataset->header.record_dimension());
  return NC_NOERR;
}

int inq_ndims(int ncid, int* ndimsp) {
  return inq(ncid, ndimsp, nullptr, nullptr, nullptr);
}
int inq_nvars(int ncid, int* nvarsp) {
  return inq(ncid, nullptr, nvarsp, nullptr, nullptr);
}
int inq_natts(int ncid, int* ngattsp) {
  return inq(ncid, nullptr, nullptr, ngattsp, nullptr);
}
int inq_unlimdim(int ncid, int* unlimdimidp) {
  return inq(ncid, nullptr, nullptr, nullptr, unlimdimidp);
}

int inq_num_rec_vars(int ncid, int* nvarsp) {
  const DatasetUse dataset(ncid);
  give(nvarsp, record_variable_count(dataset->header));
  return NC_NOERR;
}

int inq_num_fix_vars(int ncid, int* nvarsp) {
  const DatasetUse dataset(ncid);
  give(nvarsp, dataset->header.variable_count() - record_variable_count(dataset->header));
  return NC_NOERR;
}

int inq_format(int ncid, int* formatp) {
  const DatasetUse dataset(ncid);
  give(formatp, dataset->header.version);
  return NC_NOERR;
}

int inq_version(int ncid, int* nc_mode) {
  constexpr int classic_model = 0x100;  // NC_CLASSIC_MODEL
  constexpr int offset_64bit = 0x200;   // NC_64BIT_OFFSET
  constexpr int data_64bit = 0x20;      // NC_64BIT_DATA
  const DatasetUse dataset(ncid);
  switch (dataset->header.version) {
    case formats::Version::cdf1:
      give(nc_mode, classic_model);
      break;
    case formats::Version::cdf2:
      give(nc_mode, offset_64bit);
      break;
    case formats::Version::cdf5:
      give(nc_mode, data_64bit);
      break;
  }
  return NC_NOERR;
}

int inq_striping(int ncid, int* striping_size, int* striping_count) {
  const DatasetUse dataset(ncid);
  const auto hint = [&](const char* key) {
    const auto it = dataset->hints.find(key);
    return it == dataset->hints.end() ? 0 : std::max(0, std::atoi(it->second.c_str()));
  };
  give(striping_size, hint("striping_unit"));
  give(striping_count, hint("striping_factor"));
  return NC_NOERR;
}

int inq_dimid(int ncid, const char* name, int* idp) {
  const DatasetUse dataset(ncid);
  require_wanted_name(name);
  const int id = dataset->header.find_dimension(name);
  if (id < 0) throw Error(NC_EBADDIM, dataset->path + " has no dimension '" + name + "'");
  give(idp, id);
  return NC_NOERR;
}

int inq_dim(int ncid, int dimid, char* name, MPI_Offset* lenp) {
  const DatasetUse dataset(ncid);
  require_dimension(*dataset, dimid);
  give_text(name, dataset->header.dimension(dimid).name);
  if (lenp != nullptr) *lenp = length_of(*dataset, dimid);
  return NC_NOERR;
}

int inq_dimname(int ncid, int dimid, char* name) {
  return inq_dim(ncid, dimid, name, nullptr);
}
int inq_dimlen(int ncid, int dimid, MPI_Offset* lenp) {
  return inq_dim(ncid, dimid, nullptr, lenp);
}

int inq_varid(int ncid, const char* name, int* varidp) {
  const DatasetUse dataset(ncid);
  require_wanted_name(name);
  const int id = dataset->header.find_variable(name);
  if (id < 0) throw Error(NC_ENOTVAR, dataset->path + " has no variable '" + name + "'");
  give(varidp, id);
  return NC_NOERR;
}

int inq_var(int ncid, int varid, char* name, nc_type* xtypep, int* ndimsp, int* dimidsp, int* nattsp) {
  const DatasetUse dataset(ncid);
  const auto& variable = variable_of(*dataset, varid);
  give_text(name, variable.name);
  give(xtypep, variable.type);
  give(ndimsp, variable.dimids.size());
  if (dimidsp != nullptr) std::ranges::copy(variable.dimids, dimidsp);
  give(nattsp, variable.attributes.size());
  return NC_NOERR;
}

int inq_varname(int ncid, int varid, char* name) {
  return inq_var(ncid, varid, name, nullptr, nullptr, nullptr, nullptr);
}
int inq_vartype(int ncid, int varid, nc_type* xtypep) {
  return inq_var(ncid, varid, nullptr, xtypep, nullptr, nullptr, nullptr);
}
int inq_varndims(int ncid, int varid, int* ndimsp) {
  return inq_var(ncid, varid, nullptr, nullptr, ndimsp, nullptr, nullptr);
}
int inq_vardimid(int ncid, int varid, int* dimidsp) {
  return inq_var(ncid, varid, nullptr, nullptr, nullptr, dimidsp, nullptr);
}
int inq_varnatts(int ncid, int varid, int* nattsp) {
  if (varid == -1) return inq_natts(ncid, nattsp);  // NC_GLOBAL
  return inq_var(ncid, varid, nullptr, nullptr, nullptr, nullptr, nattsp);
}

int inq_varoffset(int ncid, int varid, MPI_Offset* offset) {
  const DatasetUse dataset(ncid);
  give(offset, variable_of(*dataset, varid).begin);
  return NC_NOERR;
}

int inq_var_fill(int ncid, int varid, int* no_fill, void* fill_value) {
  const DatasetUse dataset(ncid);
  give(no_fill, variable_of(*dataset, varid).no_fill);
  if (fill_value != nullptr) dataset->header.fill_value(varid, fill_value);
  return NC_NOERR;
}

int inq_put_size(int ncid, MPI_Offset* size) {
  const DatasetUse dataset(ncid);
  give(size, dataset->put_bytes);
  return NC_NOERR;
}

int inq_get_size(int ncid, MPI_Offset* size) {
  const DatasetUse dataset(ncid);
  give(size, dataset->get_bytes);
  return NC_NOERR;
}

int inq_header_size(int ncid, MPI_Offset* size) {
  const DatasetUse dataset(ncid);
  // As in PnetCDF 1.15, in define mode: the size that the header would have if it were written now.
  give(size, dataset->in_define_mode ? formats::encoded_size(dataset->header) : dataset->layout.header_size);
  return NC_NOERR;
}

int inq_header_extent(int ncid, MPI_Offset* extent) {
  const DatasetUse dataset(ncid);
  give(extent, dataset->layout.header_extent);
  return NC_NOERR;
}

int inq_recsize(int ncid, MPI_Offset* recsize) {
  const DatasetUse dataset(ncid);
  give(recsize, dataset->layout.record_size);
  return NC_NOERR;
}

int inq_path(int ncid, int* pathlen, char* path) {
  const DatasetUse dataset(ncid);
  give(pathlen, dataset->path.size());
  give_text(path, dataset->path);
  return NC_NOERR;
}

int inq_files_opened(int* num, int* ncids) {
  if (num == nullptr) throw Error(NC_EINVAL, "ncmpi_inq_files_opened needs a pointer for the number");
  const auto ids = open_datasets();
  *num = static_cast<int>(ids.size());
  if (ncids != nullptr) std::ranges::copy(ids, ncids);
  return NC_NOERR;
}

int inq_file_info(int ncid, MPI_Info* info_used) {
  const DatasetUse dataset(ncid);
  if (info_used == nullptr) return NC_NOERR;
  InfoHandle info;
  for (const auto& [key, value] :
       hints_in_force(dataset->asked_hints, dataset->hints, dataset->layout_options))
    info.set(key, value);
  *info_used = info.release();
  return NC_NOERR;
}

int inq_malloc_size(MPI_Offset*) {
  throw Error(NC_ENOTENABLED, "allocations are not counted");
}
int inq_malloc_max_size(MPI_Offset*) {
  throw Error(NC_ENOTENABLED, "allocations are not counted");
}
int inq_malloc_list() {
  throw Error(NC_ENOTENABLED, "allocations are not recorded");
}

}  // namespace sluice::api::ncmpi
