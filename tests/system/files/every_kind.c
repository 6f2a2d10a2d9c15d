/* every_kind write|check FILE 1|2|5: an ordinary PnetCDF program. It writes a file with every kind of
 * variable by every kind of access, or checks it. Element i of variable v has the value (7 i + 3 v) % 100. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 3, ROWS = 11, COLUMNS = 37, RECORDS = 5 };
enum { FIXED, RECORD, SCALAR, KINDS };

static int rank, ranks, failures;

#define TRY(call) check((call), #call, __LINE__)
static void check(int status, const char* call, int line) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: line %d: %s: %s\n", rank, line, call, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value_of(long long element, int varid) {
  return (double)((7 * element + 3 * varid) % 100);
}

/* This rank has columns [first, last). */
static MPI_Offset first_column(int r) {
  return COLUMNS * r / ranks;
}

static void define(int ncid, int types) {
  const int type_of[] = {NC_BYTE,  NC_SHORT,  NC_INT,  NC_FLOAT, NC_DOUBLE,
                         NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64};
  int time, level, row, column, varid;
  TRY(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &time));
  TRY(ncmpi_def_dim(ncid, "level", LEVELS, &level));
  TRY(ncmpi_def_dim(ncid, "row", ROWS, &row));
  TRY(ncmpi_def_dim(ncid, "column", COLUMNS, &column));
  TRY(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 10, "every kind"));
  for (int t = 0; t < types; ++t) {
    char name[32];
    const int fixed[] = {level, row, column}, record[] = {time, row, column};
    const double range[] = {0, 99};
    snprintf(name, sizeof name, "fixed_%d", t);
    TRY(ncmpi_def_var(ncid, name, type_of[t], 3, fixed, &varid));
    TRY(ncmpi_put_att_double(ncid, varid, "valid_range", type_of[t], 2, range));
    snprintf(name, sizeof name, "record_%d", t);
    TRY(ncmpi_def_var(ncid, name, type_of[t], 3, record, &varid));
    TRY(ncmpi_put_att_text(ncid, varid, "units", 1, "m"));
    snprintf(name, sizeof name, "scalar_%d", t);
    TRY(ncmpi_def_var(ncid, name, type_of[t], 0, NULL, &varid));
  }
}

/* This rank's elements of rows [row, row + rows) of plane `plane`, in order. */
static double* block_values(int varid, MPI_Offset plane, MPI_Offset row, MPI_Offset rows) {
  const MPI_Offset first = first_column(rank), last = first_column(rank + 1);
  double* values = malloc((size_t)(rows * (last - first) + 1) * sizeof *values);
  double* to = values;
  for (MPI_Offset y = row; y < row + rows; ++y)
    for (MPI_Offset x = first; x < last; ++x) *to++ = value_of((plane * ROWS + y) * COLUMNS + x, varid);
  return values;
}

/* Writes records from the last to the first, by requests. */
static void write_records(int ncid, int varid) {
  double* values[RECORDS];
  int requests[RECORDS], statuses[RECORDS];
  for (int record = RECORDS; record-- > 0;) {
    const MPI_Offset start[] = {record, 0, first_column(rank)};
    const MPI_Offset count[] = {1, ROWS, first_column(rank + 1) - start[2]};
    values[record] = block_values(varid, record, 0, ROWS);
    TRY(ncmpi_iput_vara_double(ncid, varid, start, count, values[record], &requests[record]));
  }
  TRY(ncmpi_wait_all(ncid, RECORDS, requests, statuses));
  for (int record = 0; record < RECORDS; ++record) {
    TRY(statuses[record]);
    free(values[record]);
  }
}

/* Writes level 0 by one block, level 1 by a list of rows, level 2 row by row in independent mode. */
static void write_fixed(int ncid, int varid) {
  const MPI_Offset first = first_column(rank), columns = first_column(rank + 1) - first;
  const MPI_Offset start[] = {0, 0, first}, count[] = {1, ROWS, columns};
  double* values = block_values(varid, 0, 0, ROWS);
  TRY(ncmpi_put_vara_double_all(ncid, varid, start, count, values));
  free(values);

  MPI_Offset starts[ROWS][3], counts[ROWS][3], *start_list[ROWS], *count_list[ROWS];
  for (int y = 0; y < ROWS; ++y) {
    memcpy(starts[y], (MPI_Offset[]){1, y, first}, sizeof starts[y]);
    memcpy(counts[y], (MPI_Offset[]){1, 1, columns}, sizeof counts[y]);
    start_list[y] = starts[y];
    count_list[y] = counts[y];
  }
  values = block_values(varid, 1, 0, ROWS);
  TRY(ncmpi_put_varn_double_all(ncid, varid, ROWS, start_list, count_list, values));
  free(values);

  TRY(ncmpi_begin_indep_data(ncid));
  for (MPI_Offset y = 0; y < ROWS; ++y) {
    const MPI_Offset row_start[] = {2, y, first}, row_count[] = {1, 1, columns};
    values = block_values(varid, 2, y, 1);
    if (columns > 0) TRY(ncmpi_put_vara_double(ncid, varid, row_start, row_count, values));
    free(values);
  }
  TRY(ncmpi_end_indep_data(ncid));
}

static void write_all(int ncid, int types) {
  for (int varid = 0; varid < types * KINDS; ++varid) {
    const double value = value_of(0, varid);
    if (varid % KINDS == FIXED) write_fixed(ncid, varid);
    if (varid % KINDS == RECORD) write_records(ncid, varid);
    if (varid % KINDS == SCALAR) TRY(ncmpi_put_var_double_all(ncid, varid, &value));
  }
}

/* A longer header and new variables move all data. */
static void redefine(int ncid, int types) {
  char history[3000];
  int dimids[2], varid;
  const MPI_Offset start[] = {0, first_column(rank)};
  const MPI_Offset count[] = {1, first_column(rank + 1) - start[1]};
  memset(history, 'h', sizeof history);
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_put_att_text(ncid, NC_GLOBAL, "history", sizeof history, history));
  TRY(ncmpi_inq_dimid(ncid, "time", &dimids[0]));
  TRY(ncmpi_inq_dimid(ncid, "column", &dimids[1]));
  TRY(ncmpi_def_var(ncid, "text", NC_CHAR, 2, dimids, &varid));
  TRY(ncmpi_def_var_fill(ncid, varid, 0, NULL));
  TRY(ncmpi_def_var(ncid, "unwritten", NC_INT, 1, &dimids[1], &varid));
  TRY(ncmpi_def_var_fill(ncid, varid, 0, NULL));
  TRY(ncmpi_enddef(ncid));
  TRY(ncmpi_put_vara_text_all(ncid, types * KINDS, start, count, history));
}

static void expect(double got, double wanted, int varid, long long element) {
  if (got == wanted || failures++ > 5) return;
  fprintf(stderr, "rank %d: variable %d, element %lld: %g instead of %g\n", rank, varid, element, got,
          wanted);
}

/* Reads strided halves: even columns by blocks, odd columns by requests. */
static void check_planes(int ncid, int varid, MPI_Offset planes) {
  for (MPI_Offset half = 0; half < 2; ++half) {
    const MPI_Offset start[] = {0, 0, half}, count[] = {planes, ROWS, (COLUMNS - half + 1) / 2},
                     stride[] = {1, 1, 2};
    double* values = calloc((size_t)(planes * ROWS * COLUMNS), sizeof *values);
    int request, status;
    if (half == 0) {
      TRY(ncmpi_get_vars_double_all(ncid, varid, start, count, stride, values));
    } else {
      TRY(ncmpi_iget_vars_double(ncid, varid, start, count, stride, values, &request));
      TRY(ncmpi_wait_all(ncid, 1, &request, &status));
      TRY(status);
    }
    const double* got = values;
    for (MPI_Offset row = 0; row < planes * ROWS; ++row)
      for (MPI_Offset x = half; x < COLUMNS; x += 2) {
        const long long element = row * COLUMNS + x;
        expect(*got++, value_of(element, varid), varid, element);
      }
    free(values);
  }
}

static void check_all(int ncid, int types) {
  int unlimited;
  MPI_Offset records;
  TRY(ncmpi_inq_unlimdim(ncid, &unlimited));
  TRY(ncmpi_inq_dimlen(ncid, unlimited, &records));
  expect((double)records, RECORDS, -1, 0);
  for (int varid = 0; varid < types * KINDS; ++varid) {
    double value = -1;
    if (varid % KINDS == FIXED) check_planes(ncid, varid, LEVELS);
    if (varid % KINDS == RECORD) check_planes(ncid, varid, RECORDS);
    if (varid % KINDS != SCALAR) continue;
    TRY(ncmpi_get_var_double_all(ncid, varid, &value));
    expect(value, value_of(0, varid), varid, 0);
  }
}

int main(int argc, char** argv) {
  int ncid;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    fprintf(stderr, "usage: %s write|check FILE 1|2|5\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int version = atoi(argv[3]), types = version == 5 ? 10 : 5;
  if (strcmp(argv[1], "write") == 0) {
    const int format = version == 1 ? 0 : version == 2 ? NC_64BIT_OFFSET : NC_64BIT_DATA;
    TRY(ncmpi_create(MPI_COMM_WORLD, argv[2], NC_CLOBBER | format, MPI_INFO_NULL, &ncid));
    define(ncid, types);
    TRY(ncmpi_enddef(ncid));
    write_all(ncid, types);
    redefine(ncid, types);
  } else {
    TRY(ncmpi_open(MPI_COMM_WORLD, argv[2], NC_NOWRITE, MPI_INFO_NULL, &ncid));
    check_all(ncid, types);
  }
  TRY(ncmpi_close(ncid));
  MPI_Finalize();
  return failures != 0;
}
