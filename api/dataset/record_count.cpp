// The number of records: puts raise it, and processes agree on it. Also the functions that fill records.
#include <algorithm>
#include <cstdint>

#include "checks.hpp"
#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"

namespace sluice::api {

void raise_record_count(Dataset& dataset, std::int64_t records, Mode mode) {
  auto& count = dataset.header.record_count;
  const std::int64_t local = std::max(count, records);
  if (mode == Mode::independent && local > count) dataset.is_record_count_dirty = true;
  const std::int64_t agreed = std::max(local, dataset.driver->agree_record_count(local, mode));
  if (agreed > count && mode == Mode::collective) count_record_count_written(dataset);
  count = agreed;
}

void count_record_count_written(Dataset& dataset) {
  if (!dataset.comm.is_root() || dataset.header.record_dimension() < 0) return;
  dataset.put_bytes += dataset.header.version == formats::Version::cdf5 ? 8 : 4;
}

void settle_record_count(Dataset& dataset) {
  if (!dataset.is_writable || dataset.header.record_dimension() < 0) return;
  raise_record_count(dataset, 0, Mode::collective);
  dataset.is_record_count_dirty = false;
}

bool follow_writer(Dataset& dataset) {
  if (dataset.is_writable) return false;
  const auto records = dataset.driver->published_record_count();
  if (!records) return false;
  dataset.header.record_count = std::max(dataset.header.record_count, *records);
  return true;
}

namespace ncmpi {

namespace {

bool has_record_variables(const formats::Header& header) noexcept {
  for (int id = 0; id < header.variable_count(); ++id) {
    if (header.is_record_variable(id)) return true;
  }
  return false;
}

}  // namespace

int sync_numrecs(int ncid) {
  const DatasetUse dataset(ncid);
  require_data_mode(*dataset);
  if (follow_writer(*dataset)) return NC_NOERR;
  // Without record variables, a reader may do anything.
  if (!has_record_variables(dataset->header)) return NC_NOERR;
  require_writable(*dataset);
  settle_record_count(*dataset);
  return NC_NOERR;
}

namespace {

void require_record_variable(const Dataset& dataset, int varid) {
  if (!dataset.header.is_record_variable(varid))
    throw Error(NC_ENOTRECVAR, "the variable '" + dataset.header.variable(varid).name + "' has no records");
}

/// The first check of PnetCDF in safe mode; outside safe mode PnetCDF continues after it.
void check_filled_variable(const Dataset& dataset, int varid) {
  require_writable(dataset);
  require_data_mode(dataset);
  require_variable(dataset, varid);
  require_record_variable(dataset, varid);
  if (dataset.is_independent)
    throw Error(NC_EINDEP, "ncmpi_fill_var_rec is collective: call ncmpi_end_indep_data first");
}

void check_fill(const Dataset& dataset, int varid, MPI_Offset recno) {
  require_variable(dataset, varid);
  require_record_variable(dataset, varid);
  require_writable(dataset);
  const auto& variable = dataset.header.variable(varid);
  // As in PnetCDF, an attribute _FillValue is equivalent to fill mode here.
  if (variable.no_fill && variable.attributes.find("_FillValue") < 0)
    throw Error(NC_ENOTFILL,
                "the variable '" + variable.name + "' is not in fill mode: see ncmpi_def_var_fill");
  if (recno < 0) throw Error(NC_EINVAL, "there is no record " + std::to_string(recno));
  if (dataset.in_define_mode && dataset.is_new)
    throw Error(NC_EINDEFINE, dataset.path + " has no data yet: call ncmpi_enddef first");
  const bool is_beyond_format = dataset.header.version != formats::Version::cdf5 && recno >= INT32_MAX;
  if (is_beyond_format || recno == INT64_MAX || check_record_offsets(dataset, varid, recno + 1) != NC_NOERR)
    throw Error(NC_EINTOVERFLOW, dataset.path + " cannot hold record " + std::to_string(recno));
}

}  // namespace

int fill_var_rec(int ncid, int varid, MPI_Offset recno) {
  const DatasetUse dataset(ncid);
  const auto arguments = [&] {
    return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, varid), argument(NC_EMULTIDEFINE_FNC_ARGS, recno)};
  };
  if (dataset->is_safe_mode) run_collectively(dataset->comm, [&] { check_filled_variable(*dataset, varid); });
  check_and_compare(
      *dataset, [&] { check_fill(*dataset, varid, recno); }, arguments);
  // The fill overwrites earlier puts, so they must be in the file first.
  if (!dataset->in_define_mode) dataset->driver->flush(Mode::collective);
  dataset->driver->fill(dataset->header, dataset->layout, varid, recno, 1);
  raise_record_count(*dataset, recno + 1, Mode::collective);
  return dataset->driver->take_flush_status();
}

}  // namespace ncmpi
}  // namespace sluice::api
