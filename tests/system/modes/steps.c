// steps COMMAND ARGUMENTS …: a program that writes steps, or reads them. The commands are:
//   write NAME STEPS LENGTH   writes the file again and again, or one file after the other if NAME contains
//       %d; each step has its number as an attribute, and LENGTH numbers that follow from it; each rank puts
//       a block
//   drain NAME   opens and checks the file until that gives NC_ENOENT; prints the steps that it found
//   take NAME STEP   opens the file, which must be that step, and checks all numbers
//   end NAME     opens it, which must give NC_ENOENT
//   full NAME    opens it for writing, which must give NC_EIO
//   hold NAME    opens it, and keeps it open
//   alone        from now on each rank opens for itself
//   await FILE   waits until this ordinary file is there
//   touch FILE   makes this ordinary file, when all ranks have come so far
//   sleep MILLISECONDS   after each step that is drained; no order may depend on it
//   kill         the last rank ends by SIGKILL
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, pause_ms;
static MPI_Comm together = MPI_COMM_WORLD;

static void check(int status, const char* call, const char* name) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s %s: %s\n", rank, call, name, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double number(int step, MPI_Offset i) {
  return 1000.0 * step + (double)i / 4;
}

static void write_step(const char* name, int step, MPI_Offset length) {
  int ncid, dimension, variable;
  check(ncmpi_create(together, name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  const MPI_Offset start = length * rank / ranks, count = length * (rank + 1) / ranks - start;
  double* values = malloc(sizeof *values * (size_t)(count + 1));
  for (MPI_Offset i = 0; i < count; ++i) values[i] = number(step, start + i);
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, values), "put", name);
  free(values);
  check(ncmpi_close(ncid), "close", name);
}

static void write_steps(const char* pattern, int steps, MPI_Offset length) {
  for (int step = 0; step < steps; ++step) {
    char name[256];
    snprintf(name, sizeof name, pattern, step);
    write_step(name, step, length);
  }
}

/* The step of the open file; all its numbers must be those of this step. */
static int check_step(int ncid, const char* name) {
  int step, variable;
  MPI_Offset length;
  check(ncmpi_get_att_int(ncid, NC_GLOBAL, "step", &step), "get_att", name);
  check(ncmpi_inq_dimlen(ncid, 0, &length), "inq_dimlen", name);
  check(ncmpi_inq_varid(ncid, "v", &variable), "inq_varid", name);
  double* values = malloc(sizeof *values * (size_t)length);
  const MPI_Offset start = 0;
  check(ncmpi_get_vara_double_all(ncid, variable, &start, &length, values), "get", name);
  for (MPI_Offset i = 0; i < length; ++i) {
    if (values[i] == number(step, i)) continue;
    fprintf(stderr, "rank %d: %s: number %lld of step %d is %g\n", rank, name, (long long)i, step, values[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(values);
  return step;
}

/* Returns the step; -1: there is none any more. */
static int read_step(const char* name, int keeps) {
  int ncid;
  const int status = ncmpi_open(together, name, NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (status == NC_ENOENT) return -1;
  check(status, "open", name);
  const int step = check_step(ncid, name);
  if (!keeps) check(ncmpi_close(ncid), "close", name);
  return step;
}

static void expect_step(const char* name, int expected) {
  const int step = read_step(name, 0);
  if (step == expected) return;
  fprintf(stderr, "rank %d: %s is step %d, not %d\n", rank, name, step, expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect_full_disk(const char* name) {
  int ncid;
  const int status = ncmpi_open(together, name, NC_WRITE, MPI_INFO_NULL, &ncid);
  if (status == NC_EIO) return;
  fprintf(stderr, "rank %d: open of %s for writing gave %s\n", rank, name, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void drain(const char* pattern) {
  char taken[4096] = "";
  for (int i = 0;; ++i) {
    char name[256];
    snprintf(name, sizeof name, pattern, i);
    const int step = read_step(name, 0);
    if (step < 0) break;
    snprintf(taken + strlen(taken), sizeof taken - strlen(taken), " %d", step);
    usleep((useconds_t)pause_ms * 1000);
  }
  if (rank == 0 || together == MPI_COMM_SELF) printf("took%s\n", taken);
  fflush(stdout);
}

static void touch(const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fclose(fopen(name, "w"));
}

/* Runs the first command of the list. Returns how many words it has; 0: it is none. */
static int run(char** words, int left) {
  const char* const command = words[0];
  if (strcmp(command, "alone") == 0) return together = MPI_COMM_SELF, 1;
  if (strcmp(command, "kill") == 0) return rank == ranks - 1 ? raise(SIGKILL) : 0, 1;
  if (left < 2) return 0;
  const char* const name = words[1];
  if (strcmp(command, "write") == 0 && left > 3) return write_steps(name, atoi(words[2]), atoll(words[3])), 4;
  if (strcmp(command, "take") == 0 && left > 2) return expect_step(name, atoi(words[2])), 3;
  if (strcmp(command, "end") == 0) return expect_step(name, -1), 2;
  if (strcmp(command, "drain") == 0) return drain(name), 2;
  if (strcmp(command, "full") == 0) return expect_full_disk(name), 2;
  if (strcmp(command, "hold") == 0) return read_step(name, 1), 2;
  if (strcmp(command, "sleep") == 0) return pause_ms = atoi(name), 2;
  if (strcmp(command, "touch") == 0) return touch(name), 2;
  if (strcmp(command, "await") == 0) {
    while (access(name, F_OK) != 0) usleep(10000);
    return 2;
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc;) {
    const int words = run(argv + i, argc - i);
    if (words == 0) {
      fprintf(stderr, "steps: no such command, or too few words: %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    i += words;
  }
  return MPI_Finalize();
}
