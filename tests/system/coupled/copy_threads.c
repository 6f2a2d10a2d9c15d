// copy_threads write | copy_threads read THREADS: STEPS files with an array of 16 MiB, larger than what one
// thread copies alone. The reader gets each as a whole and in a band of columns, forks a child that looks at
// the data, too, and has as many threads as before. THREADS: what `staging.copy-threads` allows.
#include <dirent.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { steps = 4, rows = 1024, columns = 4096 };

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", call, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "copy_threads: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(int step, MPI_Offset row, MPI_Offset column) {
  return (int)(step * 7 + row * columns + column);
}

static const char* path_of(int step) {
  static char path[32];
  snprintf(path, sizeof path, "s_%04d.nc", step);
  return path;
}

static void write_step(int step, int rank, int ranks, int* data) {
  int ncid, dimensions[2], variable;
  const MPI_Offset start[2] = {rows * rank / ranks, 0};
  const MPI_Offset count[2] = {rows * (rank + 1) / ranks - start[0], columns};
  for (MPI_Offset i = 0; i < count[0] * columns; ++i)
    data[i] = value(step, start[0] + i / columns, i % columns);
  check(ncmpi_create(MPI_COMM_WORLD, path_of(step), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid),
        "create");
  check(ncmpi_def_dim(ncid, "y", rows, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", columns, &dimensions[1]), "def_dim");
  check(ncmpi_def_var(ncid, "field", NC_INT, 2, dimensions, &variable), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  check(ncmpi_put_vara_int_all(ncid, variable, start, count, data), "put");
  check(ncmpi_close(ncid), "close");
}

static int is_right(const int* data, int step, MPI_Offset first_column, MPI_Offset width) {
  for (MPI_Offset i = 0; i < rows * width; ++i)
    if (data[i] != value(step, i / width, first_column + i % width)) return 0;
  return 1;
}

static int count_threads(void) {
  DIR* const tasks = opendir("/proc/self/task");
  int count = 0;
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count;
}

static void read_step(int step, int* data) {
  int ncid;
  const MPI_Offset all[2] = {0, 0}, whole[2] = {rows, columns};
  const MPI_Offset right[2] = {0, columns / 4}, band[2] = {rows, columns / 2 + 1};
  const int threads = count_threads();
  check(ncmpi_open(MPI_COMM_WORLD, path_of(step), NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  memset(data, 0, sizeof(int) * rows * columns);
  check(ncmpi_get_vara_int_all(ncid, 0, right, band, data), "get of a band");
  expect(is_right(data, step, right[1], band[1]), "the band is wrong");
  memset(data, 0, sizeof(int) * rows * columns);
  check(ncmpi_get_vara_int_all(ncid, 0, all, whole, data), "get");
  expect(is_right(data, step, 0, columns), "the array is wrong");
  while (count_threads() > threads) sched_yield();  // one that was waited for is listed for a moment more
  const pid_t child = fork();
  if (child == 0) _exit(is_right(data, step, 0, columns) ? 0 : 1);
  int status = 0;
  expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
  check(ncmpi_close(ncid), "close");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int is_reader = argc > 2;
  const char* const allowed = getenv("SLUICE_COPY_THREADS");
  if (is_reader)
    expect(strcmp(allowed == NULL ? "1" : allowed, argv[2]) == 0, "the reader is allowed other threads");
  int* const data = malloc(sizeof(int) * rows * columns);
  for (int step = 0; step < steps; ++step) {
    if (is_reader) {
      read_step(step, data);
    } else {
      write_step(step, rank, ranks, data);
    }
  }
  free(data);
  MPI_Finalize();
  return 0;
}
