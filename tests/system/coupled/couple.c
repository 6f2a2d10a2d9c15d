// couple COMMAND ARGUMENTS …: one side of a coupling. The commands are:
//   write NAME LENGTH     creates a file with one variable of LENGTH numbers that follow from its name; each
//       rank puts a block
//   read NAME LENGTH      opens it and checks all numbers; the ranks take rows in turn
//   whole NAME LENGTH     the same, but each rank checks all numbers
//   halve NAME LENGTH     the same, but each rank checks every second number
//   until NAME LENGTH     the same again and again until the file has LENGTH numbers; earlier ones are
//       checked, too
//   keep NAME             opens it, and keeps it open
//   release NAME          reads the one number 0 of what is kept open, which must be NAME's, and closes it
//   grow NAME LENGTH      as write, but syncs after the first quarter, and awaits go/NAME before the rest
//   lag NAME LENGTH       as write, but syncs before the close; all ranks but the first await go/NAME first
//   sparse NAME LENGTH    writes only two numbers of it
//   move NAME TO          the first rank renames it at once, whether the others have closed it or not
//   half NAME             creates it, puts something, and goes on without closing it
//   refused NAME          creates it, which must give NC_EIO
//   invalid NAME, invalid-open NAME   creates it, or opens it for writing, which must give NC_EINVAL
//   missing NAME          opens it, which must give NC_ENOENT
//   not-cdf NAME          opens it, which must give NC_ENOTNC
//   gone NAME             opens and reads it again and again, until that gives NC_ENOENT
//   overflow NAME LENGTH  as write, but memory has no space for it
//   alone                 from now on each rank opens for itself, and starts when the rank before it has
//       ended
//   await FILE            waits until the test has made this ordinary file
//   block FILE            the same, in the state of a process that waits for a disk
//   late FILE             all ranks but the first await it
//   barrier FILE          the first rank computes until this ordinary file is there; the others wait in MPI
//   beside FILE NAME LENGTH  a thread awaits FILE and then writes NAME; this thread goes on at once
//   sleep MILLISECONDS    makes the program slow; no order may depend on it
//   say TEXT, exit STATUS (all ranks), kill SIGNAL (the last rank)
// `repeat COUNT` repeats the next command whose NAME contains %d, and all that follow, for 0 … COUNT - 1.
#include <mpi.h>
#include <pnetcdf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;
static MPI_Comm together = MPI_COMM_WORLD;

/* A function of our library, which may be loaded before the other one. */
__attribute__((weak)) const char* sluice_last_error(void);

static void check(int status, const char* call, const char* name) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s %s: %s (%s)\n", rank, call, name, ncmpi_strerror(status),
          ncmpi_strerrno(status));
  if (sluice_last_error != NULL) fprintf(stderr, "rank %d: %s\n", rank, sluice_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The number at `i` of the file `path`: directories do not matter. */
static double number(const char* path, MPI_Offset i) {
  const char* slash = strrchr(path, '/');
  double seed = 0;
  for (const char* c = slash ? slash + 1 : path; *c; ++c) seed = seed * 3 + *c;
  return seed + (double)i / 4;
}

static void await_file(const char* path) {
  while (access(path, F_OK) != 0) usleep(20000);
}

/* The parent of a child by vfork waits in the kernel as one that waits for a disk, until the child has ended.
   The child must change nothing: it has the memory of its parent. */
static void block_until(const char* path) {
  const pid_t child = vfork();
  if (child == 0) {
    await_file(path);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

/* All but rank 0 come late to what follows. */
static void come_late(const char* path) {
  if (rank > 0) await_file(path);
}

static void meet(const char* path) {
  volatile double sum = 0;
  while (rank == 0 && access(path, F_OK) != 0)
    for (int i = 0; i < 10000000; ++i) sum += i;
  (void)sum;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void sync_late(int ncid, const char* name) {
  char awaited[1000];
  snprintf(awaited, sizeof awaited, "go/%s", name);
  come_late(awaited);
  check(ncmpi_sync(ncid), "sync", name);
}

/* `lags`: syncs before the close. */
static void write_file(const char* name, MPI_Offset length, int expected, int lags) {
  int ncid, dimension, variable;
  check(ncmpi_create(together, name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  const MPI_Offset start = length * rank / ranks, count = length * (rank + 1) / ranks - start;
  double* values = malloc(sizeof *values * (size_t)(count + 1));
  for (MPI_Offset i = 0; i < count; ++i) values[i] = number(name, start + i);
  const int status = ncmpi_put_vara_double_all(ncid, variable, &start, &count, values);
  free(values);
  if (status != expected) {
    fprintf(stderr, "rank %d: put %s gave %s\n", rank, name, ncmpi_strerrno(status));
    if (sluice_last_error != NULL) fprintf(stderr, "rank %d: %s\n", rank, sluice_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (lags) sync_late(ncid, name);
  check(expected == NC_NOERR ? ncmpi_close(ncid) : ncmpi_abort(ncid), "close", name);
}

/* Checks every `step`th number of the open file from `first` on, and closes it. Returns how many numbers
 * it has. */
static MPI_Offset check_file(int ncid, const char* name, int first, int step) {
  int dimension, variable;
  MPI_Offset found;
  check(ncmpi_inq_dimid(ncid, "x", &dimension), "inq_dimid", name);
  check(ncmpi_inq_dimlen(ncid, dimension, &found), "inq_dimlen", name);
  check(ncmpi_inq_varid(ncid, "v", &variable), "inq_varid", name);
  const MPI_Offset start = first, stride = step,
                   count = found > first ? (found - first + step - 1) / step : 0;
  double* values = malloc(sizeof *values * (size_t)(count + 1));
  check(
      ncmpi_get_vars_double_all(ncid, variable, count ? &start : (MPI_Offset[]){0}, &count, &stride, values),
      "get", name);
  for (MPI_Offset i = 0; i < count; ++i) {
    if (values[i] == number(name, first + i * step)) continue;
    fprintf(stderr, "rank %d: %s: number %lld of %lld is %g\n", rank, name, (long long)(first + i * step),
            (long long)found, values[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(values);
  check(ncmpi_close(ncid), "close", name);
  return found;
}

static int open_file(const char* name) {
  int ncid;
  check(ncmpi_open(together, name, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open", name);
  return ncid;
}

static void read_file(const char* name, MPI_Offset length, int first, int step) {
  const MPI_Offset found = check_file(open_file(name), name, first, step);
  if (found == length) return;
  fprintf(stderr, "rank %d: %s has %lld numbers\n", rank, name, (long long)found);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_until(const char* name, MPI_Offset length) {
  while (check_file(open_file(name), name, rank, ranks) != length) usleep(20000);
}

static int kept;

static void keep_file(const char* name) {
  check(ncmpi_open(together, name, NC_NOWRITE, MPI_INFO_NULL, &kept), "open", name);
}

static void release_file(const char* name) {
  const MPI_Offset first = 0;
  double value = -1;
  check(ncmpi_get_var1_double_all(kept, 0, &first, &value), "get", name);
  if (value != number(name, 0)) {
    fprintf(stderr, "rank %d: %s: the first number is %g\n", rank, name, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  check(ncmpi_close(kept), "close", name);
}

static void move_file(const char* name, const char* to) {
  if (rank == 0 && rename(name, to) != 0) {
    perror(name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void half_write(const char* name) {
  int ncid, dimension, variable;
  const MPI_Offset start = rank, count = 1;
  const double value = -7;
  check(ncmpi_create(together, name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", 100, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, &value), "put", name);
}

static void expect_refusal(const char* name, int expected) {
  int ncid;
  const int status = ncmpi_create(together, name, NC_CLOBBER, MPI_INFO_NULL, &ncid);
  if (status == expected) return;
  fprintf(stderr, "rank %d: create %s gave %s\n", rank, name, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect_no_open(const char* name) {
  int ncid;
  const int status = ncmpi_open(MPI_COMM_WORLD, name, NC_WRITE, MPI_INFO_NULL, &ncid);
  if (status == NC_EINVAL) return;
  fprintf(stderr, "rank %d: open %s gave %s\n", rank, name, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void miss_file(const char* name, int expected) {
  int ncid;
  const int status = ncmpi_open(together, name, NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (status == expected) return;
  fprintf(stderr, "rank %d: open %s gave %s\n", rank, name, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The file exists, whatever its contents. */
static void open_and_close(const char* name) {
  int ncid;
  check(ncmpi_open(together, name, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open", name);
  check(ncmpi_close(ncid), "close", name);
}

static void read_until_gone(const char* name) {
  int ncid, status;
  while ((status = ncmpi_open(together, name, NC_NOWRITE, MPI_INFO_NULL, &ncid)) == NC_NOERR) {
    (void)check_file(ncid, name, rank, ranks);
    usleep(20000);
  }
  if (status != NC_ENOENT) check(status, "open", name);
}

/* Puts the first quarter and syncs, awaits the file go/NAME, and puts the rest. */
static void grow_file(const char* name, MPI_Offset length) {
  int ncid, dimension, variable;
  char awaited[1000];
  snprintf(awaited, sizeof awaited, "go/%s", name);
  check(ncmpi_create(together, name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  for (int part = 0; part < 4; part += part == 0 ? 1 : 3) {
    const MPI_Offset first = length * part / 4, whole = length * (part == 0 ? 1 : 4) / 4 - first;
    const MPI_Offset start = first + whole * rank / ranks, count = first + whole * (rank + 1) / ranks - start;
    double* values = malloc(sizeof *values * (size_t)(count + 1));
    for (MPI_Offset i = 0; i < count; ++i) values[i] = number(name, start + i);
    check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, values), "put", name);
    free(values);
    if (part == 0) check(ncmpi_sync(ncid), "sync", name);
    if (part == 0) await_file(awaited);
  }
  check(ncmpi_close(ncid), "close", name);
}

/* Puts -7 as the first two numbers, and leaves the others. */
static void write_sparsely(const char* name, MPI_Offset length) {
  int ncid, dimension, variable;
  const MPI_Offset start = 0, count = rank == 0 ? 2 : 0;
  const double values[] = {-7, -7};
  check(ncmpi_create(together, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, values), "put", name);
  check(ncmpi_close(ncid), "close", name);
}

enum { turn = 1 }; /* the tag of the message that lets the next rank begin */

static void go_alone(void) {
  together = MPI_COMM_SELF;
  for (int has_turn = rank == 0; !has_turn; usleep(20000))
    MPI_Iprobe(rank - 1, turn, MPI_COMM_WORLD, &has_turn, MPI_STATUS_IGNORE);
  if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void end_turn(void) {
  if (together == MPI_COMM_SELF && rank < ranks - 1)
    MPI_Send(NULL, 0, MPI_INT, rank + 1, turn, MPI_COMM_WORLD);
}

static struct {
  const char* awaited;
  const char* name;
  MPI_Offset length;
} beside;
static pthread_t thread;
static int has_thread;

static void* write_beside(void* nothing) {
  await_file(beside.awaited);
  write_file(beside.name, beside.length, NC_NOERR, 0);
  return nothing;
}

static void go_on_beside(char** words) {
  beside.awaited = words[1];
  beside.name = words[2];
  beside.length = atoll(words[3]);
  has_thread = pthread_create(&thread, NULL, write_beside, NULL) == 0;
}

/* Carries out the command at `words`. Returns how many words it has. */
static int act(char** words, int left, int round) {
  char name[1000] = "";
  if (left < 2) {
    fprintf(stderr, "couple: '%s' has no argument\n", words[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const char* percent = strstr(words[1], "%d");
  if (percent)
    snprintf(name, sizeof name, "%.*s%d%s", (int)(percent - words[1]), words[1], round, percent + 2);
  else
    snprintf(name, sizeof name, "%s", words[1]);
  const char* command = words[0];
  if (strcmp(command, "write") == 0 && left > 2) return write_file(name, atoll(words[2]), NC_NOERR, 0), 3;
  if (strcmp(command, "lag") == 0 && left > 2) return write_file(name, atoll(words[2]), NC_NOERR, 1), 3;
  if (strcmp(command, "overflow") == 0 && left > 2)
    return write_file(name, atoll(words[2]), NC_ENO_SPACE, 0), 3;
  if (strcmp(command, "read") == 0 && left > 2) return read_file(name, atoll(words[2]), rank, ranks), 3;
  if (strcmp(command, "whole") == 0 && left > 2) return read_file(name, atoll(words[2]), 0, 1), 3;
  if (strcmp(command, "halve") == 0 && left > 2) return read_file(name, atoll(words[2]), 0, 2), 3;
  if (strcmp(command, "until") == 0 && left > 2) return read_until(name, atoll(words[2])), 3;
  if (strcmp(command, "gone") == 0) return read_until_gone(name), 2;
  if (strcmp(command, "grow") == 0 && left > 2) return grow_file(name, atoll(words[2])), 3;
  if (strcmp(command, "sparse") == 0 && left > 2) return write_sparsely(name, atoll(words[2])), 3;
  if (strcmp(command, "keep") == 0) return keep_file(name), 2;
  if (strcmp(command, "release") == 0) return release_file(name), 2;
  if (strcmp(command, "move") == 0 && left > 2) return move_file(name, words[2]), 3;
  if (strcmp(command, "half") == 0) return half_write(name), 2;
  if (strcmp(command, "refused") == 0) return expect_refusal(name, NC_EIO), 2;
  if (strcmp(command, "forbidden") == 0) return expect_refusal(name, NC_EPERM), 2;
  if (strcmp(command, "invalid") == 0) return expect_refusal(name, NC_EINVAL), 2;
  if (strcmp(command, "invalid-open") == 0) return expect_no_open(name), 2;
  if (strcmp(command, "missing") == 0) return miss_file(name, NC_ENOENT), 2;
  if (strcmp(command, "not-cdf") == 0) return miss_file(name, NC_ENOTNC), 2;
  if (strcmp(command, "unwritten") == 0) return open_and_close(name), 2;
  if (strcmp(command, "alone") == 0) return go_alone(), 1;
  if (strcmp(command, "late") == 0) return come_late(name), 2;
  if (strcmp(command, "barrier") == 0) return meet(name), 2;
  if (strcmp(command, "await") == 0) return await_file(name), 2;
  if (strcmp(command, "block") == 0) return block_until(name), 2;
  if (strcmp(command, "beside") == 0 && left > 3) return go_on_beside(words), 4;
  if (strcmp(command, "sleep") == 0) return usleep((useconds_t)atoi(words[1]) * 1000), 2;
  if (strcmp(command, "say") == 0) return rank == 0 ? printf("%s\n", name) : 0, fflush(stdout), 2;
  if (strcmp(command, "exit") == 0) exit(atoi(words[1]));
  if (strcmp(command, "kill") == 0) return rank == ranks - 1 ? kill(getpid(), atoi(words[1])) : 0, 2;
  fprintf(stderr, "couple: there is no command '%s'\n", command);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return left;
}

int main(int argc, char** argv) {
  int level;
  const int has_threads = argc > 1 && strcmp(argv[1], "beside") == 0;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc;) {
    if (strcmp(argv[i], "repeat") == 0 && i + 1 < argc) {
      const int count = atoi(argv[i + 1]);
      for (int round = 0; round < count; ++round) {
        for (int k = i + 2; k < argc;) k += act(argv + k, argc - k, round);
      }
      break;
    }
    i += act(argv + i, argc - i, 0);
  }
  end_turn();
  if (has_thread) pthread_join(thread, NULL);
#ifdef MPICH_VERSION
  // MPICH 4.0.2 over UCX's TCP: two ranks that finalize at once hang there in 1 of 4 plain runs, with rank 1
  // before rank 0 as often, and with rank 0 first in none of 40. So the ranks leave in their order.
  usleep(300000 * (unsigned)rank);
#endif
  MPI_Finalize();
  return 0;
}
