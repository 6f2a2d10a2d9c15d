// restarts write|die|read|check STEPS LENGTH: a component that goes on where it was when it is started again.
//   write  writes wave_0000.nc and so on, each with LENGTH numbers; the file `written` says how many,
//          and the last one waits for the file `go`
//   die    the same, but its first start is killed before it has put anything
//   read   reads them, and copies the numbers of each to results/; each result says that its file was read
//   check  checks the files without Sluice
// The reader closes a file when its result is on disk, so it never needs a file again that it has closed.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../must.h"

static double number(int step, MPI_Offset i) {
  return step * 1000003.0 + (double)i / 4;
}

static MPI_Offset begin_of(int part, MPI_Offset length) {
  return length * part / ranks;
}

/* The numbers of this rank. The caller frees them. */
static double* own_numbers(MPI_Offset length, MPI_Offset* start, MPI_Offset* count) {
  *start = begin_of(rank, length);
  *count = begin_of(rank + 1, length) - *start;
  return malloc(sizeof(double) * (size_t)(*count + 1));
}

/* Ends all ranks, unless that was done before. */
static void die_once(void) {
  if (access("died", F_OK) == 0) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) close(open("died", O_WRONLY | O_CREAT, 0600));
  MPI_Barrier(MPI_COMM_WORLD);
  kill(getpid(), SIGKILL);
}

static void write_step(const char* name, int step, MPI_Offset length, int dies) {
  int ncid, dimension, variable;
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  if (dies) die_once();
  MPI_Offset start, count;
  double* numbers = own_numbers(length, &start, &count);
  for (MPI_Offset i = 0; i < count; ++i) numbers[i] = number(step, start + i);
  const MPI_Offset half = count / 2, rest_start = start + half, rest = count - half;
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &half, numbers), "put", name);
  usleep(60000);
  check(ncmpi_put_vara_double_all(ncid, variable, &rest_start, &rest, numbers + half), "put", name);
  check(ncmpi_close(ncid), "close", name);
  free(numbers);
}

static void keep_result(int step, const double* numbers, MPI_Offset start, MPI_Offset count) {
  char part[64], result[64];
  snprintf(part, sizeof part, "results/%04d.part", step);
  snprintf(result, sizeof result, "results/%04d", step);
  const int file = open(part, O_WRONLY | O_CREAT, 0600);
  const size_t bytes = sizeof(double) * (size_t)count;
  require(file >= 0 && pwrite(file, numbers, bytes, (off_t)sizeof(double) * start) == (ssize_t)bytes,
          "a result cannot be written");
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) require(rename(part, result) == 0, "a result cannot be renamed");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void read_step(const char* name, int step, MPI_Offset length, int is_check) {
  int ncid, variable;
  check(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open", name);
  check(ncmpi_inq_varid(ncid, "v", &variable), "inq_varid", name);
  MPI_Offset start, count;
  double* numbers = own_numbers(length, &start, &count);
  check(ncmpi_get_vara_double_all(ncid, variable, &start, &count, numbers), "get", name);
  for (MPI_Offset i = 0; i < count; ++i) require(numbers[i] == number(step, start + i), "a wrong number");
  usleep(30000);
  if (!is_check) keep_result(step, numbers, start, count);
  check(ncmpi_close(ncid), "close", name);
  free(numbers);
}

/* How many steps were done before this start. */
static int steps_done(int is_writer) {
  int done = 0;
  char text[64];
  if (rank == 0 && is_writer) {
    FILE* file = fopen("written", "r");
    if (file != NULL && fgets(text, sizeof text, file) != NULL) done = atoi(text);
    if (file != NULL) fclose(file);
  } else if (rank == 0) {
    struct stat facts;
    for (;; ++done) {
      snprintf(text, sizeof text, "results/%04d", done);
      if (stat(text, &facts) != 0) break;
    }
  }
  MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return done;
}

static void note_written(int steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  FILE* file = fopen("written.part", "w");
  fprintf(file, "%d\n", steps);
  fclose(file);
  require(rename("written.part", "written") == 0, "the progress cannot be noted");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  require(argc == 4, "restarts write|die|read|check STEPS LENGTH");
  const int dies = strcmp(argv[1], "die") == 0;
  const int is_writer = dies || strcmp(argv[1], "write") == 0, is_check = strcmp(argv[1], "check") == 0;
  const int steps = atoi(argv[2]);
  const MPI_Offset length = atoll(argv[3]);
  for (int step = is_check ? 0 : steps_done(is_writer); step < steps; ++step) {
    char name[64];
    snprintf(name, sizeof name, "wave_%04d.nc", step);
    if (is_writer) {
      while (step + 1 == steps && access("go", F_OK) != 0) usleep(10000);
      write_step(name, step, length, dies);
      note_written(step + 1);
    } else {
      read_step(name, step, length, is_check);
    }
  }
  MPI_Finalize();
  return 0;
}
