/* The counters of bytes that a process has put and got. */
#include "report.h"

static void amounts(int ncid, const char* when) {
  MPI_Offset put = -1, get = -1;
  MUST(ncmpi_inq_put_size(ncid, &put));
  MUST(ncmpi_inq_get_size(ncid, &get));
  show("%s: put %lld, got %lld", when, (long long)put, (long long)get);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  int ncid, t, x, id, record, filled, request, status;
  double values[100] = {0};
  MUST(ncmpi_create(MPI_COMM_WORLD, "amounts.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  amounts(ncid, "created");
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 40, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "r", NC_SHORT, 1, &t, &record));
  MUST(ncmpi_def_var(ncid, "f", NC_INT, 1, &x, &filled));
  MUST(ncmpi_def_var_fill(ncid, filled, 0, NULL));
  amounts(ncid, "defined");
  MUST(ncmpi_enddef(ncid));
  amounts(ncid, "ended");
  MPI_Offset start = report_rank * 10, count = 10;
  MUST(ncmpi_put_vara_double_all(ncid, id, &start, &count, values));
  amounts(ncid, "put");
  start = report_rank, count = 1;
  MUST(ncmpi_put_vara_double_all(ncid, record, &start, &count, values));
  amounts(ncid, "put record");
  MUST(ncmpi_get_vara_double_all(ncid, id, &start, &count, values));
  amounts(ncid, "got");
  MUST(ncmpi_iput_vara_double(ncid, id, &start, &count, values, &request));
  amounts(ncid, "posted");
  MUST(ncmpi_wait_all(ncid, 1, &request, &status));
  amounts(ncid, "waited");
  MUST(ncmpi_sync(ncid));
  amounts(ncid, "synchronised");
  MUST(ncmpi_rename_var(ncid, id, "w"));
  amounts(ncid, "renamed");
  MUST(ncmpi_begin_indep_data(ncid));
  MUST(ncmpi_get_var_double(ncid, id, values));
  amounts(ncid, "independent");
  MUST(ncmpi_end_indep_data(ncid));
  amounts(ncid, "collective");
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_enddef(ncid));
  amounts(ncid, "redefined");
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "amounts.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MPI_Offset put = -1; /* reading the header counts, and depends on the implementation */
  MUST(ncmpi_inq_put_size(ncid, &put));
  show("opened: put %lld", (long long)put);
  MUST(ncmpi_close(ncid));
  return report_end();
}
