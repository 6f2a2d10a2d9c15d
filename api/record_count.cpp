// The number of records: raised by puts, agreed on among the processes; and what fills records.
#include <algorithm>

#include "checks.hpp"
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

namespace ncmpi {

int sync_numrecs(int ncid) {
  const DatasetUse dataset(ncid);
  require_data_mode(*dataset);
  require_writable(*dataset);
  settle_record_count(*dataset);
  return NC_NOERR;
}

int fill_var_rec(int ncid, int varid, MPI_Offset recno) {
  const DatasetUse dataset(ncid);
  require_variable(*dataset, varid);
  const auto& variable = dataset->header.variable(varid);
  if (!dataset->header.is_record_variable(varid))
    throw Error(NC_ENOTRECVAR, "the variable '" + variable.name + "' has no records");
  require_writable(*dataset);
  // As in PnetCDF, an attribute _FillValue is as good as the fill mode here.
  if (variable.no_fill && variable.attributes.find("_FillValue") < 0)
    throw Error(NC_ENOTFILL,
                "the variable '" + variable.name + "' is not in fill mode: see ncmpi_def_var_fill");
  if (recno < 0) throw Error(NC_EINVAL, "there is no record " + std::to_string(recno));
  if (dataset->in_define_mode && dataset->is_new)
    throw Error(NC_EINDEFINE, dataset->path + " has no data yet: call ncmpi_enddef first");
  // What was put before is to be overwritten.
  if (!dataset->in_define_mode) dataset->driver->flush(Mode::collective);
  dataset->driver->fill(dataset->header, dataset->layout, varid, recno, 1);
  raise_record_count(*dataset, recno + 1, Mode::collective);
  return NC_NOERR;
}

}  // namespace ncmpi
}  // namespace sluice::api
