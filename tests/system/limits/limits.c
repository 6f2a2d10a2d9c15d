/* limits write N | read N: puts N pieces of 1 MiB into a.nc and one row into b.nc, and gets them. For some
 * calls this process may not open another file. These calls fail with NC_ENFILE, the same calls succeed
 * later, and nothing else is lost. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { row = 1 << 18 };

static void check(int status, int expected, const char* what) {
  if (status == expected) return;
  fprintf(stderr, "%s: %s, expected %s\n", what, ncmpi_strerrno(status), ncmpi_strerrno(expected));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* From now on no descriptor is free. */
static struct rlimit forbid(void) {
  struct rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  const struct rlimit limit = {(rlim_t)next, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

static int create(const char* path, MPI_Offset rows, int* varid) {
  int ncid, dims[2];
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_64BIT_DATA, MPI_INFO_NULL, &ncid), NC_NOERR, "create");
  check(ncmpi_def_dim(ncid, "y", rows, &dims[0]), NC_NOERR, "def_dim");
  check(ncmpi_def_dim(ncid, "x", row, &dims[1]), NC_NOERR, "def_dim");
  check(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, varid), NC_NOERR, "def_var");
  check(ncmpi_enddef(ncid), NC_NOERR, "enddef");
  return ncid;
}

static int* values_of(int* values, int i) {
  for (int k = 0; k < row; ++k) values[k] = i * 1000 + k;
  return values;
}

static void write_files(int n, int* values) {
  int a_var, b_var, refused = 0;
  const int b = create("b.nc", 1, &b_var);
  const int a = create("a.nc", n, &a_var);
  const MPI_Offset count[2] = {1, row};
  for (int i = 0; i < n; ++i) {
    const MPI_Offset start[2] = {i, 0};
    const struct rlimit before = forbid();
    const int status = ncmpi_put_vara_int_all(a, a_var, start, count, values_of(values, i));
    setrlimit(RLIMIT_NOFILE, &before);
    if (status == NC_NOERR) continue;
    check(status, NC_ENFILE, "a put without a descriptor");
    ++refused;
    check(ncmpi_put_vara_int_all(a, a_var, start, count, values), NC_NOERR, "the same put again");
  }
  if (refused == 0) {
    fprintf(stderr, "no put needed a descriptor\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const MPI_Offset start[2] = {0, 0};
  check(ncmpi_put_vara_int_all(b, b_var, start, count, values_of(values, n)), NC_NOERR,
        "a put of the other file");
  check(ncmpi_close(a), NC_NOERR, "close");
  check(ncmpi_close(b), NC_NOERR, "close");
}

static void expect_row(int ncid, MPI_Offset i, int number, int* values, int* expected) {
  const MPI_Offset start[2] = {i, 0}, count[2] = {1, row};
  check(ncmpi_get_vara_int_all(ncid, 0, start, count, values), NC_NOERR, "get");
  if (memcmp(values, values_of(expected, number), sizeof(int) * row) == 0) return;
  fprintf(stderr, "row %d is not what was put\n", number);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_files(int n, int* values) {
  int a, b;
  int* const expected = malloc(sizeof(int) * row);
  check(ncmpi_open(MPI_COMM_WORLD, "a.nc", NC_NOWRITE, MPI_INFO_NULL, &a), NC_NOERR, "open");
  const MPI_Offset start[2] = {0, 0}, count[2] = {1, row};
  struct rlimit before = forbid();
  check(ncmpi_get_vara_int_all(a, 0, start, count, values), NC_ENFILE, "a get without a descriptor");
  check(ncmpi_open(MPI_COMM_WORLD, "b.nc", NC_NOWRITE, MPI_INFO_NULL, &b), NC_ENFILE,
        "an open without a descriptor");
  setrlimit(RLIMIT_NOFILE, &before);
  for (int i = 0; i < n; ++i) expect_row(a, i, i, values, expected);
  check(ncmpi_open(MPI_COMM_WORLD, "b.nc", NC_NOWRITE, MPI_INFO_NULL, &b), NC_NOERR, "open");
  expect_row(b, 0, n, values, expected);
  check(ncmpi_close(a), NC_NOERR, "close");
  check(ncmpi_close(b), NC_NOERR, "close");
  free(expected);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int* const values = malloc(sizeof(int) * row);
  if (argc == 3 && strcmp(argv[1], "write") == 0) write_files(atoi(argv[2]), values);
  if (argc == 3 && strcmp(argv[1], "read") == 0) read_files(atoi(argv[2]), values);
  free(values);
  MPI_Finalize();
  return 0;
}
