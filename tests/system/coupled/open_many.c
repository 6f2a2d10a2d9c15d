// open_many write FILES | read FILES: has all files open at once. Each has 8 values.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { values = 8 };

static void check(int status, const char* call, int file) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s of file %d: %s\n", call, file, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(int file, int i) {
  return file * 10.0 + i;
}

static void write_all(int files, int* ncids) {
  for (int file = 0; file < files; ++file) {
    char name[32];
    int dimension, variable;
    snprintf(name, sizeof name, "many_%d.nc", file);
    check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &ncids[file]), "create", file);
    check(ncmpi_def_dim(ncids[file], "x", values, &dimension), "def_dim", file);
    check(ncmpi_def_var(ncids[file], "a", NC_DOUBLE, 1, &dimension, &variable), "def_var", file);
    check(ncmpi_enddef(ncids[file]), "enddef", file);
  }
  for (int file = 0; file < files; ++file) {
    double data[values];
    for (int i = 0; i < values; ++i) data[i] = value(file, i);
    check(ncmpi_put_var_double_all(ncids[file], 0, data), "put", file);
  }
}

static void read_all(int files, int* ncids) {
  for (int file = 0; file < files; ++file) {
    char name[32];
    snprintf(name, sizeof name, "many_%d.nc", file);
    check(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncids[file]), "open", file);
  }
  for (int file = 0; file < files; ++file) {
    double data[values];
    check(ncmpi_get_var_double_all(ncids[file], 0, data), "get", file);
    for (int i = 0; i < values; ++i) {
      if (data[i] == value(file, i)) continue;
      fprintf(stderr, "file %d has %g at %d\n", file, data[i], i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int files = argc == 3 ? atoi(argv[2]) : 0;
  if (files < 1) MPI_Abort(MPI_COMM_WORLD, 2);
  int* const ncids = malloc(sizeof *ncids * (size_t)files);
  if (strcmp(argv[1], "write") == 0)
    write_all(files, ncids);
  else
    read_all(files, ncids);
  for (int file = 0; file < files; ++file) {
    // Ids are the smallest free ones, as ever.
    if (ncids[file] != file) MPI_Abort(MPI_COMM_WORLD, 3);
    check(ncmpi_close(ncids[file]), "close", file);
  }
  free(ncids);
  MPI_Finalize();
  return 0;
}
