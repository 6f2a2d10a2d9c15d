/* spirals PREFIX: waves in an excitable medium (Barkley's model) curl up into spirals. Each rank has some
   rows of the square. All write PREFIX01.nc … together, as compressed netCDF-4 files (nc_create_par): u(y,
   x), and v(y, x) in the group "recovery". */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { cells = 160, files = 16, steps = 150 };
static const double a = 0.75, b = 0.02, sharpness = 50, cell = 0.4, second = 0.025;

static int rank, ranks, first, rows; /* this rank has the rows first … first + rows - 1 */
/* With a row of the neighbour above and one of that below. */
static double u[cells + 2][cells], v[cells + 2][cells], next[cells + 2][cells];

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "spirals: %s: %s\n", what, nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void begin(void) {
  first = cells * rank / ranks;
  rows = cells * (rank + 1) / ranks - first;
  for (int row = 1; row <= rows; ++row) {
    for (int x = 0; x < cells; ++x) {
      u[row][x] = x < cells / 2 ? 1 : 0;
      v[row][x] = first + row - 1 < cells / 2 ? a / 2 : 0;
    }
  }
}

/* Nothing flows through the walls. */
static void exchange_rows(void) {
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  memcpy(u[0], u[1], sizeof u[0]);
  memcpy(u[rows + 1], u[rows], sizeof u[0]);
  MPI_Sendrecv(u[1], cells, MPI_DOUBLE, above, 0, u[rows + 1], cells, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(u[rows], cells, MPI_DOUBLE, below, 1, u[0], cells, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void advance(void) {
  exchange_rows();
  for (int row = 1; row <= rows; ++row) {
    for (int x = 0; x < cells; ++x) {
      const double here = u[row][x], left = u[row][x > 0 ? x - 1 : x],
                   right = u[row][x + 1 < cells ? x + 1 : x];
      const double spread = (left + right + u[row - 1][x] + u[row + 1][x] - 4 * here) / (cell * cell);
      next[row][x] = here + second * (sharpness * here * (1 - here) * (here - (v[row][x] + b) / a) + spread);
      v[row][x] += second * (here - v[row][x]);
    }
  }
  memcpy(u[1], next[1], (size_t)rows * sizeof u[0]);
}

static void put(int group, int variable, double values[][cells], const char* name) {
  const size_t start[] = {(size_t)first, 0}, count[] = {(size_t)rows, cells};
  check(nc_var_par_access(group, variable, NC_COLLECTIVE), name);
  check(nc_put_vara_double(group, variable, start, count, values[1]), name);
}

static int define(int group, const char* name, const int* dimensions) {
  int variable;
  check(nc_def_var(group, name, NC_FLOAT, 2, dimensions, &variable), name);
  check(nc_def_var_deflate(group, variable, 1, 1, 4), name);
  return variable;
}

static void write_file(const char* prefix, int number) {
  char path[300];
  int file, group, dimensions[2];
  snprintf(path, sizeof path, "%s%02d.nc", prefix, number);
  check(nc_create_par(path, NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file), path);
  check(nc_def_dim(file, "y", cells, &dimensions[0]), "y");
  check(nc_def_dim(file, "x", cells, &dimensions[1]), "x");
  check(nc_def_grp(file, "recovery", &group), "recovery");
  const double time = number * steps * second;
  check(nc_put_att_double(file, NC_GLOBAL, "time", NC_DOUBLE, 1, &time), "time");
  const int fast = define(file, "u", dimensions), slow = define(group, "v", dimensions);
  check(nc_enddef(file), path);
  put(file, fast, u, "u");
  put(group, slow, v, "v");
  check(nc_close(file), path);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  begin();
  for (int number = 1; number <= files; ++number) {
    for (int step = 0; step < steps; ++step) advance();
    write_file(argc > 1 ? argv[1] : "", number);
  }
  MPI_Finalize();
}
