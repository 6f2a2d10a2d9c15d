// change_twice FILE ROUNDS:  the last rank changes a large file by the C library, and all do by PnetCDF
// directly after that. What was closed first is there.
//
// change_twice FILE:  the last rank alone changes an element by PnetCDF
//
// change_twice FILE HELD UNTIL:  has the file open for reading; makes the file HELD, and waits for UNTIL
#include <fcntl.h>
#include <pnetcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH 2000000

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
  exit(1);
}

static void put(int file, MPI_Offset at, double value) {
  check(ncmpi_begin_indep_data(file), "begin_indep_data");
  check(ncmpi_put_var1_double(file, 0, &at, &value), "put");
  check(ncmpi_end_indep_data(file), "end_indep_data");
}

static void expect_value(int file, MPI_Offset at, double expected) {
  double value = -1;
  check(ncmpi_begin_indep_data(file), "begin_indep_data");
  check(ncmpi_get_var1_double(file, 0, &at, &value), "get");
  check(ncmpi_end_indep_data(file), "end_indep_data");
  if (value == expected) return;
  fprintf(stderr, "element %lld is %g, not %g\n", (long long)at, value, expected);
  exit(1);
}

/* Returns the offset of its variable. */
static MPI_Offset make(const char* path) {
  int file, dimension, variable;
  MPI_Offset offset;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  check(ncmpi_def_dim(file, "x", LENGTH, &dimension), "def_dim");
  check(ncmpi_def_var(file, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var");
  check(ncmpi_enddef(file), "enddef");
  double* const values = calloc(LENGTH, sizeof *values);
  check(ncmpi_put_var_double_all(file, variable, values), "put_all");
  free(values);
  check(ncmpi_inq_varoffset(file, variable, &offset), "inq_varoffset");
  check(ncmpi_close(file), "close");
  return offset;
}

static void change_bytes(const char* path, MPI_Offset offset, double value) {
  uint64_t bits;
  unsigned char bytes[8];
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(bits >> (56 - 8 * i));
  const int file = open(path, O_RDWR);
  if (file < 0 || pwrite(file, bytes, sizeof bytes, offset) != (ssize_t)sizeof bytes || close(file) != 0) {
    perror(path);
    exit(1);
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* path = argv[1];
  int file;
  if (argc == 2) {
    if (rank == ranks - 1) {
      check(ncmpi_open(MPI_COMM_SELF, path, NC_WRITE, MPI_INFO_NULL, &file), "open");
      put(file, 3, 5);
      check(ncmpi_close(file), "close");
    }
    MPI_Finalize();
    return 0;
  }
  if (argc == 4) {
    check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "open");
    const int held = open(argv[2], O_WRONLY | O_CREAT, 0666);
    while (held >= 0 && access(argv[3], F_OK) != 0) usleep(10000);
    check(ncmpi_close(file), "close");
    MPI_Finalize();
    return 0;
  }
  const int rounds = atoi(argv[2]);
  const MPI_Offset offset = make(path);
  for (int round = 1; round <= rounds; round++) {
    if (rank == ranks - 1) {
      change_bytes(path, offset + 8 * (100 + round), round);
      change_bytes(path, offset + 8 * round, round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &file), "open");
    for (int i = 1; i <= round; i++) {
      expect_value(file, 100 + i, i);
      expect_value(file, i, i);
    }
    put(file, 1000 * (rank + 1) + round, round);
    check(ncmpi_close(file), "close");
  }
  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  for (int i = 1; i <= rounds; i++) {
    expect_value(file, i, i);
    expect_value(file, 1000 * (rank + 1) + i, i);
  }
  check(ncmpi_close(file), "close");
  MPI_Finalize();
  return 0;
}
