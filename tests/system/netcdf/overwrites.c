/* overwrites write|read ROUNDS [NAME]: by PnetCDF, each rank puts the same blocks again and again into a file
 * that stays open: whole ones, parts of them, elements of its neighbour, and by posted requests. The reader
 * compares all with what the last round has put. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 20000 };
static int rank, ranks;

static void ok(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s\n", ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value_of(int round, int row, int column) {
  return round * 1000.0 + row + column / 1048576.0;
}

static void put(int file, int round) {
  static double values[2 * columns];
  const MPI_Offset start[2] = {2 * rank, 0}, count[2] = {2, columns};
  for (int i = 0; i < 2 * columns; ++i) values[i] = value_of(round, 2 * rank + i / columns, i % columns);
  ok(ncmpi_put_vara_double_all(file, 0, start, count, values));
  const MPI_Offset part[2] = {2 * rank + round % 2, 100}, size[2] = {1, 50};
  for (int i = 0; i < 50; ++i) values[i] = -value_of(round, (int)part[0], i);
  int request, status;
  ok(ncmpi_iput_vara_double(file, 0, part, size, values, &request));
  ok(ncmpi_wait_all(file, 1, &request, &status));
  const MPI_Offset of_neighbour[2] = {2 * ((rank + 1) % ranks), 7};
  values[0] = -round;
  ok(ncmpi_put_var1_double_all(file, 0, of_neighbour, values));
  const int last = round;
  ok(ncmpi_put_var_int_all(file, 1, &last));
}

static void check(int file, int round) {
  static double values[2 * columns];
  int last = 0;
  const MPI_Offset start[2] = {2 * rank, 0}, count[2] = {2, columns};
  ok(ncmpi_get_vara_double_all(file, 0, start, count, values));
  ok(ncmpi_get_var_int_all(file, 1, &last));
  for (int i = 0; i < 2 * columns; ++i) {
    const int row = 2 * rank + i / columns, column = i % columns;
    double expected = value_of(round, row, column);
    if (row % 2 == round % 2 && column >= 100 && column < 150) expected = -value_of(round, row, column - 100);
    if (row % 2 == 0 && column == 7) expected = -round;
    if (values[i] == expected && last == round) continue;
    fprintf(stderr, "round %d of %d, row %d, column %d: %g, not %g\n", last, round, row, column, values[i],
            expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  int file, dims[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rounds = argc > 2 ? atoi(argv[2]) : 1;
  const char* const name = argc > 3 ? argv[3] : "a.nc";
  if (argc > 1 && strcmp(argv[1], "write") == 0) {
    ok(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    ok(ncmpi_def_dim(file, "y", 2 * ranks, &dims[0]));
    ok(ncmpi_def_dim(file, "x", columns, &dims[1]));
    ok(ncmpi_def_var(file, "v", NC_DOUBLE, 2, dims, NULL));
    ok(ncmpi_def_var(file, "round", NC_INT, 0, NULL, NULL));
    ok(ncmpi_enddef(file));
    for (int round = 1; round <= rounds; ++round) {
      put(file, round);
      if (round % 20 == 0) {
        ok(ncmpi_sync(file));
        MPI_Barrier(MPI_COMM_WORLD);
        check(file, round);
      }
    }
  } else {
    ok(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &file));
    check(file, rounds);
  }
  ok(ncmpi_close(file));
  MPI_Finalize();
  return 0;
}
