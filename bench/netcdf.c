// netcdf write|read netcdf|group|pnetcdf file|coupled BYTES VARIABLES ATTRIBUTES STEPS DEFLATE
// A netCDF-4 model and its analysis: files of VARIABLES fields of BYTES together, with ATTRIBUTES attributes.
// They are written by one process (nc_create), by a group (nc_create_par), or by PnetCDF. The writer's next
// step begins when the reader has closed the last one. Prints the begin and the end of each step of a rank,
// in nanoseconds of the machine's clock.
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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { columns = 64 };

static int rank, size, variables, attributes, deflate;
static int by_pnetcdf, by_group;
static size_t rows; /* of a field, of all ranks */
static double* values;

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", what, by_pnetcdf ? ncmpi_strerror(status) : nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The steps that are written, and those that are read, in memory of both programs. */
static volatile int* pace;

static void open_pace(void) {
  const int file = open("pace", O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) exit(2);
  pace = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void await_steps(int word, int steps) {
  if (rank == 0)
    for (int seen = pace[word]; seen < steps; seen = pace[word])
      syscall(SYS_futex, &pace[word], FUTEX_WAIT, seen, NULL, NULL, 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void tell_steps(int word, int steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  pace[word] = steps;
  syscall(SYS_futex, &pace[word], FUTEX_WAKE, 100, NULL, NULL, 0);
}

static const char* name_of(char kind, int i) {
  static char name[32];
  snprintf(name, sizeof name, "%c%d", kind, i);
  return name;
}

static void put_attributes(int file, int variable, int first, int last) {
  for (int i = first; i < last; ++i) {
    const double range[2] = {0.0, i};
    const char* const text = "an attribute of a field";
    if (by_pnetcdf && i % 2 == 0)
      check(ncmpi_put_att_double(file, variable, name_of('a', i), NC_DOUBLE, 2, range), "attribute");
    else if (by_pnetcdf)
      check(ncmpi_put_att_text(file, variable, name_of('a', i), (MPI_Offset)strlen(text), text), "attribute");
    else if (i % 2 == 0)
      check(nc_put_att_double(file, variable, name_of('a', i), NC_DOUBLE, 2, range), "attribute");
    else
      check(nc_put_att_text(file, variable, name_of('a', i), strlen(text), text), "attribute");
  }
}

static int create(const char* path) {
  int file = -1;
  if (by_pnetcdf)
    check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), path);
  else if (by_group)
    check(nc_create_par(path, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file), path);
  else
    check(nc_create(path, NC_CLOBBER | NC_NETCDF4, &file), path);
  return file;
}

static void define(int file) {
  int dimensions[2];
  if (by_pnetcdf) {
    check(ncmpi_def_dim(file, "y", (MPI_Offset)rows, &dimensions[0]), "y");
    check(ncmpi_def_dim(file, "x", columns, &dimensions[1]), "x");
  } else {
    check(nc_def_dim(file, "y", rows, &dimensions[0]), "y");
    check(nc_def_dim(file, "x", columns, &dimensions[1]), "x");
  }
  for (int i = 0; i < variables; ++i) {
    int variable;
    if (by_pnetcdf)
      check(ncmpi_def_var(file, name_of('v', i), NC_DOUBLE, 2, dimensions, &variable), "variable");
    else
      check(nc_def_var(file, name_of('v', i), NC_DOUBLE, 2, dimensions, &variable), "variable");
    if (deflate && !by_pnetcdf) check(nc_def_var_deflate(file, variable, 1, 1, 1), "deflate");
    if (by_group) check(nc_var_par_access(file, variable, NC_COLLECTIVE), "access");
    put_attributes(file, variable, i * attributes / variables, (i + 1) * attributes / variables);
  }
  check(by_pnetcdf ? ncmpi_enddef(file) : nc_enddef(file), "enddef");
}

/* Writers have rows, readers columns. */
static void move(int file, int writes) {
  const size_t part = (writes ? rows : columns) / (size_t)size;
  const size_t start[2] = {writes ? (size_t)rank * part : 0, writes ? 0 : (size_t)rank * part};
  const size_t count[2] = {writes ? part : rows, writes ? columns : part};
  const MPI_Offset first[2] = {(MPI_Offset)start[0], (MPI_Offset)start[1]};
  const MPI_Offset counts[2] = {(MPI_Offset)count[0], (MPI_Offset)count[1]};
  for (int i = 0; i < variables; ++i) {
    int variable = i;
    if (!writes)
      check(by_pnetcdf ? ncmpi_inq_varid(file, name_of('v', i), &variable)
                       : nc_inq_varid(file, name_of('v', i), &variable),
            "variable");
    if (by_group && !writes) check(nc_var_par_access(file, variable, NC_COLLECTIVE), "access");
    if (by_pnetcdf)
      check(writes ? ncmpi_put_vara_double_all(file, variable, first, counts, values)
                   : ncmpi_get_vara_double_all(file, variable, first, counts, values),
            "values");
    else
      check(writes ? nc_put_vara_double(file, variable, start, count, values)
                   : nc_get_vara_double(file, variable, start, count, values),
            "values");
  }
}

static int open_file(const char* path) {
  int file = -1;
  if (by_pnetcdf)
    check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), path);
  else if (by_group)
    check(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), path);
  else
    check(nc_open(path, NC_NOWRITE, &file), path);
  return file;
}

int main(int argc, char** argv) {
  if (argc != 9) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int writes = strcmp(argv[1], "write") == 0, is_file = strcmp(argv[3], "file") == 0;
  by_pnetcdf = strcmp(argv[2], "pnetcdf") == 0;
  by_group = strcmp(argv[2], "group") == 0;
  variables = atoi(argv[5]);
  attributes = atoi(argv[6]);
  const int steps = atoi(argv[7]);
  deflate = atoi(argv[8]);
  rows = (size_t)atoll(argv[4]) / (size_t)variables / columns / sizeof(double);
  if (rows < (size_t)size) rows = (size_t)size;
  const size_t elements = rows * columns / (size_t)size;
  values = malloc(elements * sizeof(double));
  for (size_t i = 0; i < elements; ++i) values[i] = writes ? (double)(i % 1000) : -1;
  open_pace();
  for (int step = 0; step < steps; ++step) {
    if (writes)
      await_steps(1, step);
    else if (is_file)
      await_steps(0, step + 1);
    const long long begin = now();
    char path[32];  // MPI-IO tries locks in files of longer names
    snprintf(path, sizeof path, "s%d.nc", step);
    values[0] = step;
    const int file = writes ? create(path) : open_file(path);
    if (writes) define(file);
    move(file, writes);
    check(by_pnetcdf ? ncmpi_close(file) : nc_close(file), "close");
    const long long end = now();
    if (!writes && rank == 0 && values[0] != step) fprintf(stderr, "step %d is wrong: %g\n", step, values[0]);
    if (rank == 0) printf("%lld %lld\n", begin, end);
    tell_steps(writes ? 0 : 1, step + 1);
    if (!writes && is_file && rank == 0) unlink(path);
  }
  MPI_Finalize();
  return 0;
}
