/* Every function that depends on a mode, in every mode: bad ids, define, collective, independent,
 * read-only. */
#include "report.h"

static void all_calls(int ncid) {
  int n = 0, value = 5, request = NC_REQ_NULL, status = 0;
  MPI_Offset size = 0, start[1] = {0}, count[1] = {1};
  TRY(ncmpi_sync(ncid));
  TRY(ncmpi_flush(ncid));
  TRY(ncmpi_sync_numrecs(ncid));
  TRY(ncmpi_fill_var_rec(ncid, 1, 0));
  TRY(ncmpi_fill_var_rec(ncid, 0, 0));
  TRY(ncmpi_fill_var_rec(ncid, 2, 0));
  TRY(ncmpi_put_var1_int(ncid, 0, start, &value));
  TRY(ncmpi_put_var1_int_all(ncid, 0, start, &value));
  TRY(ncmpi_put_var1_int_all(ncid, 9, start, &value));
  TRY(ncmpi_put_var1_int(ncid, 9, start, &value));
  TRY(ncmpi_get_var1_int(ncid, 0, start, &value));
  TRY(ncmpi_get_var1_int_all(ncid, 0, start, &value));
  TRY(ncmpi_get_var1_int_all(ncid, NC_GLOBAL, start, &value));
  TRY(ncmpi_get_vara_int_all(ncid, 0, start, count, &value));
  TRY(ncmpi_iput_var1_int(ncid, 0, start, &value, &request));
  TRY(ncmpi_wait_all(ncid, 1, &request, &status));
  request = NC_REQ_NULL;
  TRY(ncmpi_iget_var1_int(ncid, 0, start, &value, &request));
  TRY(ncmpi_wait(ncid, 1, &request, &status));
  TRY(ncmpi_wait(ncid, NC_REQ_ALL, NULL, NULL));
  TRY(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  TRY(ncmpi_cancel(ncid, NC_REQ_ALL, NULL, NULL));
  TRY(ncmpi_inq_nreqs(ncid, &n)), show("pending %d", n);
  TRY(ncmpi_inq_buffer_size(ncid, &size));
  TRY(ncmpi_inq_buffer_usage(ncid, &size));
  TRY(ncmpi_buffer_attach(ncid, -1));
  TRY(ncmpi_buffer_attach(ncid, 0));
  TRY(ncmpi_buffer_attach(ncid, 100));
  TRY(ncmpi_buffer_attach(ncid, 100));
  TRY(ncmpi_inq_buffer_size(ncid, &size)), show("buffer %lld", (long long)size);
  TRY(ncmpi_inq_buffer_usage(ncid, &size)), show("usage %lld", (long long)size);
  TRY(ncmpi_buffer_detach(ncid));
  TRY(ncmpi_buffer_detach(ncid));
  TRY(ncmpi_inq_header_size(ncid, &size)), show("header size %lld", (long long)size);
  TRY(ncmpi_inq_header_extent(ncid, &size)), show("header extent %lld", (long long)size);
  TRY(ncmpi_inq_recsize(ncid, &size)), show("record size %lld", (long long)size);
  TRY(ncmpi_inq_varoffset(ncid, 0, &size)), show("offset %lld", (long long)size);
  TRY(ncmpi_inq_varoffset(ncid, 9, &size));
  TRY(ncmpi_inq_varoffset(ncid, NC_GLOBAL, &size));
}

static void mode_changes(int ncid) {
  TRY(ncmpi_end_indep_data(ncid));
  TRY(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_end_indep_data(ncid));
  TRY(ncmpi_end_indep_data(ncid));
  TRY(ncmpi_enddef(ncid));
  TRY(ncmpi__enddef(ncid, 0, 4, 0, 4));
}

static int define(const char* path) {
  int ncid, t, x, id;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_var(ncid, "fixed", NC_INT, 1, &x, &id));
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 1, &t, &id));
  MUST(ncmpi_def_var(ncid, "filled", NC_INT, 1, &t, &id));
  MUST(ncmpi_def_var_fill(ncid, 2, 0, NULL));
  return ncid;
}

/* fill_var_rec works for a variable with a _FillValue that is not in fill mode. */
static void fill_by_attribute(void) {
  int ncid, dims[2], with, without, no_fill = 0, fill = -1, values[4] = {0};
  MPI_Offset start[2] = {1, 0}, count[2] = {1, 4};
  MUST(ncmpi_create(MPI_COMM_WORLD, "modes_fill.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dims[0]));
  MUST(ncmpi_def_dim(ncid, "x", 4, &dims[1]));
  MUST(ncmpi_def_var(ncid, "with", NC_INT, 2, dims, &with));
  MUST(ncmpi_def_var(ncid, "without", NC_INT, 2, dims, &without));
  MUST(ncmpi_put_att_int(ncid, with, "_FillValue", NC_INT, 1, &fill));
  MUST(ncmpi_enddef(ncid));
  TRY(ncmpi_inq_var_fill(ncid, with, &no_fill, &fill)), show("no_fill %d, %d", no_fill, fill);
  TRY(ncmpi_fill_var_rec(ncid, without, 0));
  for (int r = 0; r < 2; ++r) TRY(ncmpi_fill_var_rec(ncid, with, r));
  TRY(ncmpi_get_vara_int_all(ncid, with, start, count, values));
  show("filled with %d %d", values[0], values[3]);
  TRY(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  int ncid;
  MPI_Offset size;
  report_begin(&argc, &argv);

  for (int bad = -2; bad < 3; ++bad) {
    show("---- bad id %d", bad);
    int path_length = 0, n = 0;
    MPI_Info info;
    TRY(ncmpi_close(bad));
    TRY(ncmpi_abort(bad));
    TRY(ncmpi_redef(bad));
    TRY(ncmpi_enddef(bad));
    TRY(ncmpi_inq(bad, &n, &n, &n, &n));
    TRY(ncmpi_inq_path(bad, &path_length, NULL));
    TRY(ncmpi_inq_file_info(bad, &info));
    TRY(ncmpi_def_dim(bad, "a/b", -5, &n));
    TRY(ncmpi_put_att_int(bad, 0, "a/b", 99, -1, NULL));
    TRY(ncmpi_get_att_int(bad, 0, "a/b", NULL));
    TRY(ncmpi_copy_att(bad, 0, "a", bad, 0));
    all_calls(bad);
    mode_changes(bad);
  }

  show("---- define mode");
  ncid = define("modes.nc");
  mode_changes(ncid);
  MUST(ncmpi_redef(ncid));
  show("---- redefinition");
  all_calls(ncid);
  TRY(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_end_indep_data(ncid));
  TRY(ncmpi__enddef(ncid, -1, 4, 0, 4));
  TRY(ncmpi__enddef(ncid, 0, -1, 0, 4));
  TRY(ncmpi__enddef(ncid, 0, 3, 0, 4));
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi__enddef(ncid, 0, 4, -1, 4));
  TRY(ncmpi__enddef(ncid, 0, 4, 0, -1));
  TRY(ncmpi__enddef(ncid, 0, 4, 0, 4));
  show("---- collective data mode");
  all_calls(ncid);
  show("---- independent data mode");
  MUST(ncmpi_begin_indep_data(ncid));
  all_calls(ncid);
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_enddef(ncid));
  all_calls(ncid);
  TRY(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_close(ncid));
  TRY(ncmpi_close(ncid));

  show("---- read only, collective");
  MUST(ncmpi_open(MPI_COMM_WORLD, "modes.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  all_calls(ncid);
  mode_changes(ncid);
  MUST(ncmpi_begin_indep_data(ncid));
  show("---- read only, independent");
  all_calls(ncid);
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_abort(ncid));
  TRY(ncmpi_abort(ncid));

  show("---- abort");
  ncid = define("modes_aborted.nc");
  int status =
      ncmpi_abort(ncid); /* in the reference all ranks delete the file, and only the first succeeds */
  if (report_rank == 0) show("abort -> %s", ncmpi_strerrno(status == NC_ENOENT ? NC_NOERR : status));
  together();
  TRY(ncmpi_open(MPI_COMM_WORLD, "modes_aborted.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "modes.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_redef(ncid));
  int id;
  MUST(ncmpi_def_dim(ncid, "undone", 4, &id));
  TRY(ncmpi_abort(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "modes.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_inq_dimid(ncid, "undone", &id));
  TRY(ncmpi_abort(ncid));
  show("---- close in define mode");
  ncid = define("modes_closed.nc");
  TRY(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "modes_closed.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  int variables = -1;
  TRY(ncmpi_inq_nvars(ncid, &variables)), show("variables %d", variables);
  TRY(ncmpi_close(ncid));

  show("---- malloc");
  TRY(ncmpi_inq_malloc_size(&size));
  TRY(ncmpi_inq_malloc_max_size(&size));
  TRY(ncmpi_inq_malloc_list());
  fill_by_attribute();
  return report_end();
}
