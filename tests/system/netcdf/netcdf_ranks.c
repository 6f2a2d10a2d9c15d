/* netcdf_ranks write|read: a program with MPI in which each rank has a file of its own by serial netCDF;
 * readers look at all of them. */
#include <mpi.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { length = 100 };

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", call, nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_file(int rank) {
  char name[32];
  int id, x, v, values[length];
  snprintf(name, sizeof name, "r%d.nc", rank);
  check(nc_create(name, NC_CLOBBER, &id), "create");
  check(nc_def_dim(id, "x", length, &x), "def_dim");
  check(nc_def_var(id, "v", NC_INT, 1, &x, &v), "def_var");
  check(nc_enddef(id), "enddef");
  for (int i = 0; i < length; ++i) values[i] = 1000 * rank + i;
  check(nc_put_var_int(id, v, values), "put_var");
  check(nc_close(id), "close");
}

static int sum_of_file(int other) {
  char name[32];
  int id, v, values[length / 2], sum = 0;
  snprintf(name, sizeof name, "r%d.nc", other);
  check(nc_open(name, NC_NOWRITE, &id), "open");
  check(nc_inq_varid(id, "v", &v), "inq_varid");
  const size_t start = 1, count = length / 2;
  const ptrdiff_t stride = 2;
  check(nc_get_vars_int(id, v, &start, &count, &stride, values), "get_vars");
  check(nc_close(id), "close");
  for (int i = 0; i < length / 2; ++i) sum += values[i];
  return sum;
}

int main(int argc, char** argv) {
  int rank, size, is_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[1], "write") == 0) {
    write_file(rank);
  } else {
    for (int other = 0; other < 3; ++other) is_wrong |= sum_of_file(other) != 50000 * other + 2500;
  }
  MPI_Finalize();
  return is_wrong;
}
