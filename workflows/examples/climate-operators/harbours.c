/* harbours PATTERN OUTPUT: the water in harbours whose mouths see the sea level of a series of files
   (mouth_level(time, ncells), time in s). A harbour is a damped oscillator with a period of its own. Each
   rank has some of the harbours. Writes level(time, harbour), a record for each file. */
#include <math.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { HARBOURS = 6 };
static const double period_min[HARBOURS] = {42, 25, 20, 35, 26, 20};
static const double damping = 0.05, step_s = 10, pi = 3.14159265358979;

struct Harbour {
  double level_m, speed_m_s, mouth_m;
};

static int rank;

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "harbours: rank %d: %s: %s\n", rank, what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Reads the mouths' levels from harbour `first` on, and the time; 0 after the last file. */
static int read_mouths(const char* pattern, int number, MPI_Offset first, MPI_Offset count, float* mouths,
                       double* time_s) {
  char path[1000];
  int file, variable;
  const MPI_Offset start[] = {0, first}, counts[] = {1, count};
  snprintf(path, sizeof path, pattern, number);
  const int status = ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file);
  if (status == NC_ENOENT) return 0;
  check(status, path);
  check(ncmpi_inq_varid(file, "mouth_level", &variable), path);
  check(ncmpi_get_vara_float_all(file, variable, start, counts, mouths), path);
  check(ncmpi_inq_varid(file, "time", &variable), path);
  check(ncmpi_get_vara_double_all(file, variable, start, counts, time_s), path);
  check(ncmpi_close(file), path);
  return 1;
}

/* From the old level of the mouth to the new one, which it reaches evenly. */
static void advance(struct Harbour* harbour, double period_s, double mouth_m, double time_s) {
  const double frequency = 2 * pi / period_s, before = harbour->mouth_m;
  const int steps = (int)ceil(time_s / step_s);
  for (int i = 0; i < steps; ++i) {
    const double forcing = before + (mouth_m - before) * (i + 0.5) / steps, dt = time_s / steps;
    const double force = forcing - harbour->level_m;
    harbour->speed_m_s += dt * (frequency * frequency * force - 2 * damping * frequency * harbour->speed_m_s);
    harbour->level_m += dt * harbour->speed_m_s;
  }
  harbour->mouth_m = mouth_m;
}

static int create(const char* path, int* time, int* level) {
  int file, dimensions[2];
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &file), path);
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]), path);
  check(ncmpi_def_dim(file, "harbour", HARBOURS, &dimensions[1]), path);
  check(ncmpi_def_var(file, "time", NC_DOUBLE, 1, dimensions, time), path);
  check(ncmpi_put_att_text(file, *time, "units", 1, "s"), path);
  check(ncmpi_def_var(file, "level", NC_FLOAT, 2, dimensions, level), path);
  check(ncmpi_put_att_text(file, *level, "units", 1, "m"), path);
  check(ncmpi_enddef(file), path);
  return file;
}

static void run(const char* input, const char* output) {
  int ranks, number, file = -1, time = 0, level = 0;
  double before_s = 0;
  struct Harbour harbours[HARBOURS] = {{0}};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Offset first = HARBOURS * rank / ranks, count = HARBOURS * (rank + 1) / ranks - first;
  for (number = 1;; ++number) {
    float values[HARBOURS];
    double time_s;
    if (!read_mouths(input, number, first, count, values, &time_s)) break;
    if (number == 1) file = create(output, &time, &level);
    for (MPI_Offset i = 0; i < count; ++i) {
      advance(&harbours[i], 60 * period_min[first + i], values[i], time_s - before_s);
      values[i] = (float)harbours[i].level_m;
    }
    before_s = time_s;
    const MPI_Offset start[] = {number - 1, first}, counts[] = {1, count};
    check(ncmpi_put_vara_float_all(file, level, start, counts, values), output);
    check(ncmpi_put_vara_double_all(file, time, start, counts, &time_s), output);
  }
  if (file == -1) check(NC_ENOENT, "no file to read");
  check(ncmpi_close(file), output);
  if (rank == 0) printf("%d times of %d harbours\n", number - 1, HARBOURS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc == 3) run(argv[1], argv[2]);
  MPI_Finalize();
  return argc == 3 ? 0 : 2;
}
