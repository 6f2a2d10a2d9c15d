// patterns PROGRAMS STEPS STRIDE BYTES ACTION…: an ordinary program whose steps 0, STRIDE, 2 STRIDE … are its
// ACTIONs, in order. NAME has %d for the number of the step, or it is one name for all steps. Actions:
//
// - write:NAME read:NAME: by PnetCDF: create, define, put, close; open, get, close
// - nwrite:NAME nread:NAME: the same by netCDF's functions; by nc_create and nc_open, if it is one process
// - latest:NAME: reads; the last step is the last one of the program
// - put:NAME get:NAME: a record of one file, followed by a sync; the record, when it is there
// - tell:WORD: WORD is the number of steps that are done
// - await:WORD:AHEAD: waits until WORD is AHEAD further than this program, or at its end; -AHEAD: not so far
//   behind
//
// PROGRAMS of them begin together. The reader checks values of each step. Behind the first quarter of the
// steps, and at the end, each process calls access("mark"), and leaves times and switches in a file.
// bench/patterns runs it.
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { started = 15 };

static int rank, size, steps, step;
static MPI_Offset count; /* of doubles of a process */
static double* data;
static int* pace; /* words that all programs map */
static int open_file_id = -1, open_variable;

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "step %d: %s: %s\n", step, what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_pace(void) {
  const int file = open("pace", O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) exit(2);
  pace = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void await(int word, int number) {
  MPI_Barrier(MPI_COMM_WORLD);
  int* const at = &pace[word];
  for (int seen = __atomic_load_n(at, __ATOMIC_SEQ_CST); rank == 0 && seen < number;
       seen = __atomic_load_n(at, __ATOMIC_SEQ_CST))
    syscall(SYS_futex, at, FUTEX_WAIT, seen, NULL, NULL, 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void tell(int word, int add, int number) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  if (add)
    __atomic_add_fetch(&pace[word], number, __ATOMIC_SEQ_CST);
  else
    __atomic_store_n(&pace[word], number, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &pace[word], FUTEX_WAKE, 100, NULL, NULL, 0);
}

static void define(int ncid, int is_growing, int* variable) {
  int dimensions[2];
  if (is_growing) check(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", count * size, &dimensions[is_growing]), "def_dim");
  check(ncmpi_def_var(ncid, "field", NC_DOUBLE, 1 + is_growing, dimensions, variable), "def_var");
  check(ncmpi_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att");
  check(ncmpi_enddef(ncid), "enddef");
}

static int create(const char* path) {
  int ncid;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), path);
  return ncid;
}

static void write_step(const char* path) {
  const MPI_Offset start = rank * count;
  const int ncid = create(path);
  int variable;
  define(ncid, 0, &variable);
  data[0] = step;
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, data), "put_vara");
  check(ncmpi_close(ncid), "close");
}

/* The readers read it in another order: reader i reads the block of the last writer but i. */
static MPI_Offset block(void) {
  return (size - 1 - rank) * count;
}

static void expect_step(int number, int wanted) {
  if (number == wanted && data[0] == wanted && data[count - 1] >= 0) return;
  fprintf(stderr, "step %d: the file has step %d, and the data %g … %g\n", wanted, number, data[0],
          data[count - 1]);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int read_step(const char* path, int is_any) {
  const MPI_Offset start = block();
  int ncid, variable, number;
  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid), path);
  check(ncmpi_inq_varid(ncid, "field", &variable), "inq_varid");
  check(ncmpi_get_att_int(ncid, NC_GLOBAL, "step", &number), "get_att");
  data[count - 1] = -1;
  check(ncmpi_get_vara_double_all(ncid, variable, &start, &count, data), "get_vara");
  check(ncmpi_close(ncid), "close");
  expect_step(number, is_any ? number : step);
  return number;
}

static void write_by_netcdf(const char* path) {
  const size_t start = (size_t)(rank * count), length = (size_t)count;
  int ncid, dimension, variable;
  const int mode = NC_CLOBBER | NC_64BIT_DATA;
  check(size == 1 ? nc_create(path, mode, &ncid)
                  : nc_create_par(path, mode, MPI_COMM_WORLD, MPI_INFO_NULL, &ncid),
        path);
  check(nc_def_dim(ncid, "x", length * (size_t)size, &dimension), "def_dim");
  check(nc_def_var(ncid, "field", NC_DOUBLE, 1, &dimension, &variable), "def_var");
  check(nc_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att");
  check(nc_enddef(ncid), "enddef");
  if (size > 1) check(nc_var_par_access(ncid, variable, NC_COLLECTIVE), "var_par_access");
  data[0] = step;
  check(nc_put_vara_double(ncid, variable, &start, &length, data), "put_vara");
  check(nc_close(ncid), "close");
}

static void read_by_netcdf(const char* path) {
  const size_t start = (size_t)block(), length = (size_t)count;
  int ncid, variable, number;
  check(size == 1 ? nc_open(path, NC_NOWRITE, &ncid)
                  : nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &ncid),
        path);
  check(nc_inq_varid(ncid, "field", &variable), "inq_varid");
  check(nc_get_att_int(ncid, NC_GLOBAL, "step", &number), "get_att");
  if (size > 1) check(nc_var_par_access(ncid, variable, NC_COLLECTIVE), "var_par_access");
  data[count - 1] = -1;
  check(nc_get_vara_double(ncid, variable, &start, &length, data), "get_vara");
  check(nc_close(ncid), "close");
  expect_step(number, step);
}

static void put_record(const char* path) {
  const MPI_Offset start[2] = {step, rank * count}, counts[2] = {1, count};
  if (open_file_id < 0) {
    open_file_id = create(path);
    define(open_file_id, 1, &open_variable);
  }
  data[0] = step;
  check(ncmpi_put_vara_double_all(open_file_id, open_variable, start, counts, data), "put_vara");
  check(ncmpi_sync(open_file_id), "sync");
  if (step + 1 == steps) check(ncmpi_close(open_file_id), "close");
}

static MPI_Offset records(void) {
  int dimension;
  MPI_Offset number;
  check(ncmpi_inq_unlimdim(open_file_id, &dimension), "inq_unlimdim");
  check(ncmpi_inq_dimlen(open_file_id, dimension, &number), "inq_dimlen");
  return number;
}

static void get_record(const char* path) {
  const MPI_Offset start[2] = {step, block()}, counts[2] = {1, count};
  if (open_file_id < 0) {
    check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &open_file_id), path);
    check(ncmpi_inq_varid(open_file_id, "field", &open_variable), "inq_varid");
  }
  while (records() <= step) check(ncmpi_sync_numrecs(open_file_id), "sync_numrecs");
  check(ncmpi_get_vara_double_all(open_file_id, open_variable, start, counts, data), "get_vara");
  expect_step(step, step);
  if (step + 1 == steps) check(ncmpi_close(open_file_id), "close");
}

static void act(const char* action) {
  const char* const what = strchr(action, ':') + 1;
  char path[64];
  int word = 0, ahead = 0;
  snprintf(path, sizeof path, what, step);
  if (strncmp(action, "write:", 6) == 0)
    write_step(path);
  else if (strncmp(action, "read:", 5) == 0)
    read_step(path, 0);
  else if (strncmp(action, "latest:", 7) == 0)
    step = read_step(path, 1);
  else if (strncmp(action, "nwrite:", 7) == 0)
    write_by_netcdf(path);
  else if (strncmp(action, "nread:", 6) == 0)
    read_by_netcdf(path);
  else if (strncmp(action, "put:", 4) == 0)
    put_record(path);
  else if (strncmp(action, "get:", 4) == 0)
    get_record(path);
  else if (sscanf(action, "tell:%d", &word) == 1)
    tell(word, 0, step + 1);
  else if (sscanf(action, "await:%d:%d", &word, &ahead) == 2)
    await(word, step + ahead < steps ? step + ahead : steps);
  else
    check(NC_EINVAL, action);
}

struct mark {
  long long time, switches;
};

static struct mark mark(void) {
  struct timespec time;
  struct rusage use;
  (void)access("mark", F_OK);
  clock_gettime(CLOCK_MONOTONIC, &time);
  getrusage(RUSAGE_SELF, &use);
  return (struct mark){time.tv_sec * 1000000000LL + time.tv_nsec, use.ru_nvcsw};
}

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int programs = atoi(argv[1]), stride = atoi(argv[3]);
  steps = atoi(argv[2]);
  count = atoll(argv[4]) / 8 / size;
  data = malloc((size_t)count * sizeof *data);
  for (MPI_Offset i = 0; i < count; ++i) data[i] = (double)i;
  open_pace();
  tell(started, 1, 1);
  await(started, programs);
  struct mark first = {0, 0};
  int first_step = -1;
  for (step = 0; step < steps; step += stride) {
    if (first_step < 0 && step >= steps / 4) {
      first = mark();
      first_step = step;
    }
    for (int i = 5; i < argc; ++i) act(argv[i]);
  }
  const struct mark last = mark();
  char name[64];
  snprintf(name, sizeof name, "%d.times", (int)getpid());
  FILE* const out = fopen(name, "w");
  fprintf(out, "%lld %d %lld\n", last.time - first.time, steps - first_step, last.switches - first.switches);
  fclose(out);
  MPI_Finalize();
  return 0;
}
