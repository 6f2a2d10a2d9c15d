// vary write NAME COUNTER: each rank puts two rows of numbers; rank 1 adds the number that stands in the
//     ordinary file COUNTER, which rank 0 raises afterwards, so that no two calls write the same.
// vary read NAME: each rank gets all rows by a nonblocking get.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 5 };
static int rank, ranks;

static void check(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "vary: %s\n", ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int count_in(const char* path) {
  int count = 0;
  FILE* file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%d", &count) != 1) count = 0;
  if (file != NULL) fclose(file);
  return count;
}

static void write_file(const char* name, const char* counter) {
  const int count = count_in(counter);
  int ncid, rows, row, variable, values[2 * columns];
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  check(ncmpi_def_dim(ncid, "y", 2 * ranks, &rows));
  check(ncmpi_def_dim(ncid, "x", columns, &row));
  const int dimensions[] = {rows, row};
  check(ncmpi_def_var(ncid, "v", NC_INT, 2, dimensions, &variable));
  check(ncmpi_enddef(ncid));
  for (int i = 0; i < 2 * columns; ++i) values[i] = 100 * rank + i;
  if (rank == 1) values[7] += 1000 * count;
  const MPI_Offset start[] = {2 * rank, 0}, size[] = {2, columns};
  check(ncmpi_put_vara_int_all(ncid, variable, start, size, values));
  check(ncmpi_close(ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  FILE* file = fopen(counter, "w");
  fprintf(file, "%d\n", count + 1);
  fclose(file);
}

static void read_file(const char* name) {
  int ncid, request, status;
  check(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MPI_Offset rows;
  check(ncmpi_inq_dimlen(ncid, 0, &rows));
  int* values = malloc((size_t)rows * columns * sizeof *values);
  check(ncmpi_iget_var_int(ncid, 0, values, &request));
  check(ncmpi_wait_all(ncid, 1, &request, &status));
  check(status);
  check(ncmpi_close(ncid));
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 4 && strcmp(argv[1], "write") == 0) {
    write_file(argv[2], argv[3]);
  } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
    read_file(argv[2]);
  } else {
    fprintf(stderr, "vary write NAME COUNTER | vary read NAME\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
