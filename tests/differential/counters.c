/* The counters of bytes for all kinds of accesses, and empty puts of records. */
#include "report.h"

enum { VARIABLES = 3, COLUMNS = 6 };

static int ncid, varids[VARIABLES], record;
static int values[VARIABLES][64];
static double reals[VARIABLES][64];
static MPI_Offset put_bytes, get_bytes;

static void define(void) {
  int t, rows, columns;
  char name[16];
  MUST(ncmpi_create(MPI_COMM_WORLD, "counters.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "rows", 2 * report_ranks, &rows));
  MUST(ncmpi_def_dim(ncid, "columns", COLUMNS, &columns));
  const int of_fixed[] = {rows, columns}, of_record[] = {t, rows};
  const nc_type types[] = {NC_INT, NC_SHORT, NC_DOUBLE};
  for (int i = 0; i < VARIABLES; ++i) {
    snprintf(name, sizeof name, "v%d", i);
    MUST(ncmpi_def_var(ncid, name, types[i], 2, of_fixed, &varids[i]));
  }
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 2, of_record, &record));
  MUST(ncmpi_enddef(ncid));
}

/* The growth of the counters. Bytes that create has counted are not compared. */
static void show_bytes(void) {
  MPI_Offset put = 0, get = 0;
  MUST(ncmpi_inq_put_size(ncid, &put));
  MUST(ncmpi_inq_get_size(ncid, &get));
  show("  %d bytes put, %d bytes got", (int)(put - put_bytes), (int)(get - get_bytes));
  put_bytes = put, get_bytes = get;
}

static void show_values(void) {
  for (int i = 0; i < VARIABLES; ++i) {
    for (int k = 0; k < 12; ++k) show("  %d: %d %g", i, values[i][k], reals[i][k]);
  }
}

static void fill(int seed) {
  for (int i = 0; i < VARIABLES; ++i) {
    for (int k = 0; k < 64; ++k) values[i][k] = seed + 100 * i + k, reals[i][k] = values[i][k] + 0.5;
  }
}

static void clear(void) {
  memset(values, 0, sizeof values);
  memset(reals, 0, sizeof reals);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  define();
  int* ints[] = {values[0], values[1], values[2]};
  double* doubles[] = {reals[0], reals[1], reals[2]};
  void* buffers[] = {values[0], reals[1], values[2]};
  MPI_Offset start[] = {2 * report_rank, 1}, count[] = {2, 3}, stride[] = {1, 2}, imap[] = {1, 2},
             outside[] = {99, 0};
  MPI_Offset *starts[] = {start, start, start}, *counts[] = {count, count, count};
  MPI_Offset *strides[] = {stride, stride, stride}, *imaps[] = {imap, imap, imap};
  const MPI_Offset amounts[] = {6, 6, 6};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_INT};

  MUST(ncmpi_inq_put_size(ncid, &put_bytes));
  MUST(ncmpi_inq_get_size(ncid, &get_bytes));
  for (int i = 0; i < VARIABLES; ++i) {
    static int zeros[512];
    MUST(ncmpi_put_var_int_all(ncid, varids[i], zeros));
  }
  show_bytes();
  fill(report_rank);
  TRY(ncmpi_mput_vara_int_all(ncid, VARIABLES, varids, starts, counts, ints)), show_bytes();
  TRY(ncmpi_mput_vars_double_all(ncid, VARIABLES, varids, starts, counts, strides, doubles)), show_bytes();
  TRY(ncmpi_mput_varm_int_all(ncid, VARIABLES, varids, starts, counts, strides, imaps, ints)), show_bytes();
  TRY(ncmpi_mput_var1_int_all(ncid, VARIABLES, varids, starts, ints)), show_bytes();
  TRY(ncmpi_mput_vara_all(ncid, VARIABLES, varids, starts, counts, buffers, amounts, types)), show_bytes();
  TRY(ncmpi_mput_vara_int_all(ncid, 0, varids, starts, counts, ints)), show_bytes();
  TRY(ncmpi_mput_vara_int_all(ncid, -1, varids, starts, counts, ints)), show_bytes();
  TRY(ncmpi_mput_vara_int(ncid, VARIABLES, varids, starts, counts, ints)), show_bytes();
  clear();
  TRY(ncmpi_mget_vara_int_all(ncid, VARIABLES, varids, starts, counts, ints)), show_bytes(), show_values();
  TRY(ncmpi_mget_vars_double_all(ncid, VARIABLES, varids, starts, counts, strides, doubles)), show_bytes(),
      show_values();
  TRY(ncmpi_mget_var_int_all(ncid, 1, varids, ints)), show_bytes(), show_values();
  TRY(ncmpi_mget_vara_all(ncid, VARIABLES, varids, starts, counts, buffers, amounts, types)), show_bytes(),
      show_values();
  int request;
  MUST(ncmpi_iput_vara_int(ncid, varids[1], start, count, ints[0], &request));
  show_bytes();
  TRY(ncmpi_wait_all(ncid, 1, &request, NULL)), show_bytes();
  MUST(ncmpi_iget_vara_int(ncid, varids[2], start, count, ints[0], &request));
  TRY(ncmpi_wait_all(ncid, 1, &request, NULL)), show_bytes();
  TRY(ncmpi_put_vara_int_all(ncid, varids[0], outside, count, ints[0])), show_bytes();
  TRY(ncmpi_get_vara_int_all(ncid, varids[0], outside, count, ints[0])), show_bytes();

  MPI_Offset length = -1, first[] = {3, 2 * report_rank}, row[] = {1, 2}, empty[] = {1, 0};
  TRY(ncmpi_put_vara_int_all(ncid, record, first, empty, ints[0]));
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  show("  %d records", (int)length), show_bytes();
  for (first[0] = 0; first[0] < 6; ++first[0])
    MUST(ncmpi_put_vara_int_all(ncid, record, first, row, ints[0]));
  MUST(ncmpi_get_vara_int_all(ncid, record, start, empty, ints[0]));
  MUST(ncmpi_begin_indep_data(ncid));
  first[0] = 9;
  TRY(ncmpi_put_vara_int(ncid, record, first, empty, ints[0]));
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  show("  %d records", (int)length);
  TRY(ncmpi_mput_vara_int(ncid, VARIABLES, varids, starts, counts, ints));
  TRY(ncmpi_mget_vara_int(ncid, VARIABLES, varids, starts, counts, ints));
  TRY(ncmpi_mput_vara_int_all(ncid, VARIABLES, varids, starts, counts, ints));
  MUST(ncmpi_end_indep_data(ncid));
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  show("  %d records", (int)length);
  static int zeros[512];
  MUST(ncmpi_put_var_int_all(ncid, record, zeros));
  MUST(ncmpi_close(ncid));
  return report_end();
}
