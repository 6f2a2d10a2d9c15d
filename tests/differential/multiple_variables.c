/* mput and mget: several variables in one call, in all shapes, some with errors. */
#include "report.h"

enum { rows = 8, columns = 6, variables = 4 };

static int ncid, ids[variables];

static void define(void) {
  int dims[2], scalar_dims[1];
  MUST(ncmpi_create(MPI_COMM_WORLD, "multiple_variables.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &scalar_dims[0]));
  MUST(ncmpi_def_dim(ncid, "y", rows, &dims[0]));
  MUST(ncmpi_def_dim(ncid, "x", columns, &dims[1]));
  MUST(ncmpi_set_fill(ncid, NC_FILL, NULL));
  MUST(ncmpi_def_var(ncid, "ints", NC_INT, 2, dims, &ids[0]));
  MUST(ncmpi_def_var(ncid, "doubles", NC_DOUBLE, 2, dims, &ids[1]));
  MUST(ncmpi_def_var(ncid, "shorts", NC_SHORT, 2, dims, &ids[2]));
  dims[0] = scalar_dims[0];
  MUST(ncmpi_def_var(ncid, "records", NC_FLOAT, 2, dims, &ids[3]));
  MUST(ncmpi_enddef(ncid));
}

static void show_ints(const char* what, const int* values, int count) {
  for (int i = 0; i < count; ++i) show("%s[%d] = %d", what, i, values[i]);
}

/* Each rank has its rows: blocks of all variables in one call. */
static void blocks(int is_collective) {
  int values[variables][rows * columns], back[variables][rows * columns];
  int* buffers[variables];
  MPI_Offset start[variables][2], count[variables][2], *starts[variables], *counts[variables];
  const int mine = rows / report_ranks;
  for (int v = 0; v < variables; ++v) {
    start[v][0] = mine * report_rank, start[v][1] = v;
    count[v][0] = mine, count[v][1] = columns - v;
    starts[v] = start[v], counts[v] = count[v], buffers[v] = values[v];
    for (int i = 0; i < rows * columns; ++i) values[v][i] = 1000 * v + 100 * report_rank + i, back[v][i] = -1;
  }
  if (is_collective)
    TRY(ncmpi_mput_vara_int_all(ncid, variables, ids, starts, counts, buffers));
  else
    TRY(ncmpi_mput_vara_int(ncid, variables, ids, starts, counts, buffers));
  for (int v = 0; v < variables; ++v) buffers[v] = back[v];
  if (is_collective)
    TRY(ncmpi_mget_vara_int_all(ncid, variables, ids, starts, counts, buffers));
  else
    TRY(ncmpi_mget_vara_int(ncid, variables, ids, starts, counts, buffers));
  for (int v = 0; v < variables; ++v) show_ints("vara", back[v], mine * (columns - v));
}

static void other_shapes(void) {
  double values[variables][rows * columns];
  double* buffers[variables];
  void* any[variables];
  MPI_Offset start[variables][2], count[variables][2], stride[variables][2], imap[variables][2];
  MPI_Offset *starts[variables], *counts[variables], *strides[variables], *imaps[variables],
      bufcounts[variables];
  MPI_Datatype types[variables];
  for (int v = 0; v < variables; ++v) {
    start[v][0] = report_rank, start[v][1] = v;
    count[v][0] = 2, count[v][1] = 1;
    stride[v][0] = report_ranks, stride[v][1] = 1;
    imap[v][0] = 1, imap[v][1] = 2;
    starts[v] = start[v], counts[v] = count[v], strides[v] = stride[v], imaps[v] = imap[v];
    buffers[v] = values[v], any[v] = values[v];
    bufcounts[v] = 2, types[v] = MPI_DOUBLE;
    for (int i = 0; i < rows * columns; ++i) values[v][i] = 0.5 + v + 10 * report_rank + i;
  }
  TRY(ncmpi_mput_var1_double_all(ncid, variables, ids, starts, buffers));
  TRY(ncmpi_mput_vars_double_all(ncid, variables, ids, starts, counts, strides, buffers));
  TRY(ncmpi_mput_varm_double_all(ncid, variables, ids, starts, counts, strides, imaps, buffers));
  TRY(ncmpi_mput_vars_all(ncid, variables, ids, starts, counts, strides, any, bufcounts, types));
  for (int v = 0; v < variables; ++v) bufcounts[v] = rows * columns;
  TRY(ncmpi_mget_var_double_all(ncid, 2, ids, buffers));
  for (int i = 0; i < rows * columns; ++i) show("%g %g", values[0][i], values[1][i]);
  TRY(ncmpi_mget_vars_all(ncid, variables, ids, starts, counts, strides, any, bufcounts, types));
  for (int v = 0; v < variables; ++v) bufcounts[v] = 2;
  TRY(ncmpi_mget_vars_all(ncid, variables, ids, starts, counts, strides, any, bufcounts, types));
  for (int v = 0; v < variables; ++v) show("%g %g", values[v][0], values[v][1]);
}

static void errors(void) {
  int value = 7, *buffers[2] = {&value, &value}, bad[2] = {ids[0], 99}, none[1] = {99};
  MPI_Offset start[2] = {0, 0}, far_away[2] = {99, 0}, *starts[2] = {start, far_away};
  TRY(ncmpi_mput_var1_int_all(ncid, 2, ids, starts, buffers));
  TRY(ncmpi_mput_var1_int_all(ncid, 2, bad, starts, buffers));
  TRY(ncmpi_mput_var1_int_all(ncid, 1, none, starts, buffers));
  TRY(ncmpi_mget_var1_int_all(ncid, 2, bad, starts, buffers));
  TRY(ncmpi_mput_var1_int_all(ncid, 0, NULL, NULL, NULL));
  ncmpi_cancel(ncid, NC_REQ_ALL, NULL, NULL); /* in the reference, requests before a mistake stay pending */
  TRY(ncmpi_mput_var1_int(ncid, 1, ids, starts, buffers));
  TRY(ncmpi_mget_var1_int(ncid, 1, ids, starts, buffers));
  value = 70000;
  int shorts[1] = {ids[2]};
  TRY(ncmpi_mput_var1_int_all(ncid, 1, shorts, starts, buffers));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  define();
  blocks(1);
  MUST(ncmpi_begin_indep_data(ncid));
  blocks(0);
  TRY(ncmpi_mput_var_int_all(ncid, 0, NULL, NULL));
  MUST(ncmpi_end_indep_data(ncid));
  other_shapes();
  errors();
  MUST(ncmpi_redef(ncid));
  errors();
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "multiple_variables.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  errors();
  MUST(ncmpi_close(ncid));
  return report_end();
}
