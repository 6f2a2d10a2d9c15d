// soak write PATTERN LENGTH: writes files of LENGTH numbers, one after the other, until the ordinary file
//     `stop` is there. PATTERN has a %d for the number of the step, or none.
// soak read PATTERN: reads and checks them, until there is no further one.
// Rank 0 writes the number of its steps to the ordinary file `steps.write` or `steps.read` now and then.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static void check(int status, const char* call, const char* name) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s %s: %s\n", rank, call, name, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void tell(const char* what, long step) {
  char name[32];
  snprintf(name, sizeof name, "steps.%s", what);
  FILE* file = fopen(name, "w");
  fprintf(file, "%ld\n", step);
  fclose(file);
}

static double number(long step, MPI_Offset i) {
  return (double)step * 7 + (double)i;
}

/* The numbers of this rank: a block of all. */
static MPI_Offset begin_of(int r, MPI_Offset length) {
  return length * r / ranks;
}

static void write_step(const char* name, long step, MPI_Offset length, double* numbers) {
  int ncid, dimension, variable;
  const MPI_Offset start = begin_of(rank, length), count = begin_of(rank + 1, length) - start;
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "dimension", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "variable", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  for (MPI_Offset i = 0; i < count; ++i) numbers[i] = number(step, start + i);
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, numbers), "put", name);
  check(ncmpi_close(ncid), "close", name);
}

/* 0: there is no such file. */
static int read_step(const char* name, long step) {
  static double* numbers = NULL;
  static MPI_Offset room = 0;
  int ncid;
  const int opened = ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (opened == NC_ENOENT) return 0;
  check(opened, "open", name);
  MPI_Offset length;
  check(ncmpi_inq_dimlen(ncid, 0, &length), "length", name);
  const MPI_Offset start = begin_of(rank, length), count = begin_of(rank + 1, length) - start;
  if (count > room) numbers = realloc(numbers, (size_t)(room = count) * sizeof *numbers);
  check(ncmpi_get_vara_double_all(ncid, 0, &start, &count, numbers), "get", name);
  check(ncmpi_close(ncid), "close", name);
  for (MPI_Offset i = 0; i < count; ++i) {
    if (numbers[i] == number(step, start + i)) continue;
    fprintf(stderr, "rank %d: %s, step %ld: number %lld is %g\n", rank, name, step, (long long)(start + i),
            numbers[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 1;
}

static int is_stopped(long step) {
  int stopped = 0;
  if (step % 16 != 0) return 0;
  if (rank == 0) stopped = access("stop", F_OK) == 0;
  MPI_Bcast(&stopped, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return stopped;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int writes = argc == 4 && strcmp(argv[1], "write") == 0;
  if (!writes && !(argc == 3 && strcmp(argv[1], "read") == 0)) {
    fprintf(stderr, "soak write PATTERN LENGTH | soak read PATTERN\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const MPI_Offset length = writes ? atoll(argv[3]) : 0;
  double* numbers = malloc((size_t)(length + 1) * sizeof *numbers);
  for (long step = 0;; ++step) {
    char name[256];
    const char* place = strstr(argv[2], "%d");
    snprintf(name, sizeof name, "%s", argv[2]);
    if (place != NULL)
      snprintf(name, sizeof name, "%.*s%ld%s", (int)(place - argv[2]), argv[2], step, place + 2);
    if (writes) {
      if (is_stopped(step)) break;
      write_step(name, step, length, numbers);
    } else if (!read_step(name, step)) {
      break;
    }
    if (rank == 0 && step % 100 == 0) tell(argv[1], step);
  }
  free(numbers);
  MPI_Finalize();
  return 0;
}
