// append_many write STEPS SAME: one file to which each step adds a record, by opening, putting and closing.
// After each SAME steps other processes do this: all in turn, rank 0 alone, all in the opposite order.
// append_many read STEPS: opens the file again and again until it has all records. It compares the newest and
// an old record each time, and all records at the end.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 16 };

static int rank, ranks;

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, call, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(MPI_Offset record, MPI_Offset column) {
  return (double)(record * 100 + column);
}

/* This process's columns of a record. */
static void put(MPI_Comm comm, int ncid, MPI_Offset record) {
  int place, processes;
  MPI_Comm_rank(comm, &place);
  MPI_Comm_size(comm, &processes);
  const MPI_Offset first = columns * place / processes;
  const MPI_Offset start[] = {record, first}, count[] = {1, columns * (place + 1) / processes - first};
  double values[columns];
  for (MPI_Offset i = 0; i < count[1]; ++i) values[i] = value(record, first + i);
  check(ncmpi_put_vara_double_all(ncid, 1, start, count, values), "put");
}

static void create(void) {
  int ncid, dimensions[2], variable;
  check(ncmpi_create(MPI_COMM_WORLD, "history.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "column", columns, &dimensions[1]), "def_dim");
  check(ncmpi_def_var(ncid, "column", NC_DOUBLE, 1, &dimensions[1], &variable), "def_var");
  check(ncmpi_def_var(ncid, "field", NC_DOUBLE, 2, dimensions, &variable), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  double values[columns];
  for (int i = 0; i < columns; ++i) values[i] = value(-1, i);
  check(ncmpi_put_var_double_all(ncid, 0, values), "put column");
  put(MPI_COMM_WORLD, ncid, 0);
  check(ncmpi_close(ncid), "close");
}

static void write_all(MPI_Offset steps, MPI_Offset same) {
  MPI_Comm groups[3] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL};
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &groups[2]);
  create();
  double begin = MPI_Wtime();
  for (MPI_Offset step = 1; step < steps; ++step) {
    if (rank == 0 && step % 500 == 0) {
      printf("steps to %lld: %.0f us each\n", (long long)step, (MPI_Wtime() - begin) * 1e6 / 500);
      begin = MPI_Wtime();
    }
    const MPI_Comm group = groups[step / same % 3];
    if (group == MPI_COMM_SELF && rank != 0) continue;
    int ncid;
    check(ncmpi_open(group, "history.nc", NC_WRITE, MPI_INFO_NULL, &ncid), "open");
    put(group, ncid, step);
    check(ncmpi_close(ncid), "close");
  }
  MPI_Comm_free(&groups[2]);
}

static void compare(int ncid, MPI_Offset first, MPI_Offset records) {
  const MPI_Offset start[] = {first, 0}, count[] = {records, columns};
  double* values = malloc(sizeof *values * (size_t)(records * columns));
  check(ncmpi_get_vara_double_all(ncid, 1, start, count, values), "get");
  for (MPI_Offset i = 0; i < records * columns; ++i) {
    if (values[i] == value(first + i / columns, i % columns)) continue;
    fprintf(stderr, "rank %d: record %lld, column %lld: %g\n", rank, (long long)(first + i / columns),
            (long long)(i % columns), values[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(values);
}

static void read_all(MPI_Offset steps) {
  for (MPI_Offset records = 0; records < steps;) {
    int ncid;
    check(ncmpi_open(MPI_COMM_WORLD, "history.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
    check(ncmpi_inq_dimlen(ncid, 0, &records), "inq_dimlen");
    double fixed[columns];
    check(ncmpi_get_var_double_all(ncid, 0, fixed), "get column");
    if (fixed[columns - 1] != value(-1, columns - 1)) MPI_Abort(MPI_COMM_WORLD, 1);
    compare(ncid, records - 1, 1);
    compare(ncid, records * 2 / 3, 1);
    if (records == steps) compare(ncid, 0, steps);
    check(ncmpi_close(ncid), "close");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 4 && strcmp(argv[1], "write") == 0) {
    write_all(atoll(argv[2]), atoll(argv[3]));
  } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
    read_all(atoll(argv[2]));
  } else {
    fprintf(stderr, "usage: append_many write STEPS SAME | read STEPS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
