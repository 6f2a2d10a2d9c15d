/* energy PATTERN OUTPUT: the potential energy of a tsunami in each half of the ocean, from its files. Each
   rank reads a band of rows. Writes energy(time, half), a record for each file, in J; half 0 is the south. */
#include <math.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { HALVES = 2 };
static const double earth_radius_m = 6371e3, weight_n_m3 = 1025 * 9.81, degree = 3.14159265358979 / 180;

static int rank, ranks;

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "energy: rank %d: %s: %s\n", rank, what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* room_for(MPI_Offset elements, size_t size) {
  void* const room = malloc((size_t)elements * size + 1);
  check(room != NULL ? NC_NOERR : NC_ENOMEM, "memory");
  return room;
}

static MPI_Offset length_of(int file, const char* name) {
  int dimension;
  MPI_Offset length;
  check(ncmpi_inq_dimid(file, name, &dimension), name);
  check(ncmpi_inq_dimlen(file, dimension, &length), name);
  return length;
}

static void read_axis(int file, const char* name, double* values) {
  int variable;
  check(ncmpi_inq_varid(file, name, &variable), name);
  check(ncmpi_get_var_double_all(file, variable, values), name);
}

/* Adds the energy of the file's rows of this rank. */
static void add_energy(int file, double* energy_j) {
  const MPI_Offset rows = length_of(file, "latitude"), columns = length_of(file, "longitude");
  const MPI_Offset first = rows * rank / ranks, count = rows * (rank + 1) / ranks - first;
  double* const latitude = room_for(rows, sizeof(double));
  float* const level_m = room_for(count * columns, sizeof(float));
  const MPI_Offset start[] = {0, first, 0}, counts[] = {1, count, columns};
  int variable;
  read_axis(file, "latitude", latitude);
  check(ncmpi_inq_varid(file, "sea_level", &variable), "sea_level");
  check(ncmpi_get_vara_float_all(file, variable, start, counts, level_m), "sea_level");
  const double side_m = earth_radius_m * degree * fabs(latitude[1] - latitude[0]);
  for (MPI_Offset row = 0; row < count; ++row) {
    double sum = 0;
    for (MPI_Offset column = 0; column < columns; ++column) {
      const double level = level_m[row * columns + column];
      if (level < 1e30) sum += level * level;
    }
    const double here = latitude[first + row];
    energy_j[here < 0 ? 0 : 1] += 0.5 * weight_n_m3 * sum * side_m * side_m * cos(here * degree);
  }
  free(latitude);
  free(level_m);
}

static int create(const char* path, int* time, int* energy) {
  int file, dimensions[2];
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &file), path);
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]), path);
  check(ncmpi_def_dim(file, "half", HALVES, &dimensions[1]), path);
  check(ncmpi_def_var(file, "time", NC_DOUBLE, 1, dimensions, time), path);
  check(ncmpi_put_att_text(file, *time, "units", 1, "s"), path);
  check(ncmpi_def_var(file, "energy", NC_DOUBLE, 2, dimensions, energy), path);
  check(ncmpi_put_att_text(file, *energy, "units", 1, "J"), path);
  check(ncmpi_enddef(file), path);
  return file;
}

static void run(const char* input, const char* output) {
  int files, out = -1, time = 0, energy = 0;
  char path[1000];
  for (files = 0;; ++files) {
    int file;
    double time_s, part_j[HALVES] = {0}, whole_j[HALVES];
    snprintf(path, sizeof path, input, files + 1);
    const int status = ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file);
    if (status == NC_ENOENT) break;
    check(status, path);
    add_energy(file, part_j);
    read_axis(file, "time", &time_s);
    check(ncmpi_close(file), path);
    MPI_Allreduce(part_j, whole_j, HALVES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (files == 0) out = create(output, &time, &energy);
    const MPI_Offset start[] = {files, 0}, counts[] = {1, HALVES};
    check(ncmpi_put_vara_double_all(out, time, start, counts, &time_s), output);
    check(ncmpi_put_vara_double_all(out, energy, start, counts, whole_j), output);
  }
  check(out == -1 ? NC_ENOENT : NC_NOERR, path);
  check(ncmpi_close(out), output);
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(library, &length);
  if (rank == 0) printf("energy of %d files, with %.20s\n", files, library);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 3) run(argv[1], argv[2]);
  MPI_Finalize();
  return argc == 3 ? 0 : 2;
}
