// relay NAME STEPS LENGTH [-EDGE]... [+EDGE]...: a component that goes on where it was when it is started
// again. Step by step it reads LENGTH numbers from EDGE_0000.nc and so on of each -EDGE, adds them up with
// numbers of its own, and writes them to the files of each +EDGE, and to results/NAME.0000 and so on. An edge
// whose name begins with s is a stream: EDGE.nc. Its steps say which they are, because a writer that was
// killed may write one twice.
// It closes what it has read when its results of the step are there, so it never needs a file again that it
// has closed. The last step of a component that reads nothing waits for the file `go`.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../must.h"

enum { most_edges = 16, name_size = 64 };

static MPI_Offset length, start, count; /* this rank's part */

static void file_name(char* name, const char* edge, int step) {
  if (edge[0] == 's')
    snprintf(name, name_size, "%s.nc", edge);
  else
    snprintf(name, name_size, "%s_%04d.nc", edge, step);
}

/* Returns the file of the step, open. */
static int open_step(const char* name, int step) {
  for (;;) {
    int ncid, found;
    check(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open", name);
    check(ncmpi_get_att_int(ncid, NC_GLOBAL, "step", &found), "get_att", name);
    require(found <= step, "a step is missing");
    if (found == step) return ncid;
    check(ncmpi_close(ncid), "close", name);
  }
}

/* Adds the numbers of the file. Returns it, open. */
static int add_numbers(const char* edge, int step, double* sum) {
  char name[name_size];
  file_name(name, edge, step);
  const int ncid = open_step(name, step);
  int variable;
  check(ncmpi_inq_varid(ncid, "v", &variable), "inq_varid", name);
  double* numbers = malloc(sizeof *numbers * (size_t)(count + 1));
  check(ncmpi_get_vara_double_all(ncid, variable, &start, &count, numbers), "get", name);
  for (MPI_Offset i = 0; i < count; ++i) sum[i] += numbers[i];
  free(numbers);
  return ncid;
}

static void write_numbers(const char* edge, int step, const double* numbers) {
  char name[name_size];
  int ncid, dimension, variable;
  file_name(name, edge, step);
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create", name);
  check(ncmpi_def_dim(ncid, "x", length, &dimension), "def_dim", name);
  check(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dimension, &variable), "def_var", name);
  check(ncmpi_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  check(ncmpi_put_vara_double_all(ncid, variable, &start, &count, numbers), "put", name);
  check(ncmpi_close(ncid), "close", name);
}

static void result_name(char* name, const char* component, int step, const char* end) {
  snprintf(name, name_size, "results/%s.%04d%s", component, step, end);
}

static void keep_result(const char* component, int step, const double* numbers) {
  char part[name_size], result[name_size];
  result_name(part, component, step, ".part");
  result_name(result, component, step, "");
  const int file = open(part, O_WRONLY | O_CREAT, 0600);
  const size_t bytes = sizeof *numbers * (size_t)count;
  require(file >= 0 && pwrite(file, numbers, bytes, (off_t)sizeof *numbers * start) == (ssize_t)bytes,
          "a result cannot be written");
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) require(rename(part, result) == 0, "a result cannot be renamed");
  MPI_Barrier(MPI_COMM_WORLD);
}

static int steps_done(const char* component) {
  int done = 0;
  char name[name_size];
  struct stat facts;
  if (rank == 0)
    for (result_name(name, component, 0, ""); stat(name, &facts) == 0; result_name(name, component, done, ""))
      ++done;
  MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return done;
}

static void do_step(const char* component, int step, char** edges, int edge_count) {
  int open_files[most_edges], open_count = 0;
  double* numbers = malloc(sizeof *numbers * (size_t)(count + 1));
  for (MPI_Offset i = 0; i < count; ++i) numbers[i] = step * 1000003.0 + (double)(start + i) / 4;
  for (int i = 0; i < edge_count; ++i)
    if (edges[i][0] == '-') open_files[open_count++] = add_numbers(edges[i] + 1, step, numbers);
  for (int i = 0; i < edge_count; ++i)
    if (edges[i][0] == '+') write_numbers(edges[i] + 1, step, numbers);
  keep_result(component, step, numbers);
  for (int i = 0; i < open_count; ++i) check(ncmpi_close(open_files[i]), "close", component);
  free(numbers);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  require(argc >= 4 && argc - 4 <= most_edges, "relay NAME STEPS LENGTH [-EDGE]... [+EDGE]...");
  const int steps = atoi(argv[2]);
  length = atoll(argv[3]);
  start = length * rank / ranks;
  count = length * (rank + 1) / ranks - start;
  int reads = 0;
  for (int i = 4; i < argc; ++i) reads += argv[i][0] == '-';
  for (int step = steps_done(argv[1]); step < steps; ++step) {
    while (reads == 0 && step + 1 == steps && access("go", F_OK) != 0) usleep(10000);
    do_step(argv[1], step, argv + 4, argc - 4);
  }
  MPI_Finalize();
  return 0;
}
