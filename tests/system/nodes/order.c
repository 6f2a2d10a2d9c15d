/* order writer|reader FILE: the processes of the writer put into the same elements in turn, each time
 * fewer. Between the puts are the operations that order them in PnetCDF: collective puts, ncmpi_sync, the
 * end of independent mode, closing and reopening. The later put must win, however the clocks of the
 * machines differ. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/checked_call.h"

enum { turns = 13, length = 16 * (turns + 1) };
static int rank, size;

/* Turns alternate between the last and the first process, and so between machines. */
static int has_turn(int turn) {
  return rank == (turn % 2 == 0 ? size - 1 : 0);
}

static MPI_Offset count_of(int turn) {
  return length - 16 * turn;
}

static void fill(int* values, int turn) {
  for (int i = 0; i < length; ++i) values[i] = turn + 1;
}

static void put_together(int ncid, int turn) {
  int values[length];
  fill(values, turn);
  const MPI_Offset start = 0, count = has_turn(turn) ? count_of(turn) : 0;
  CHECK(ncmpi_put_vara_int_all(ncid, 0, &start, &count, values));
}

static void put_alone(int ncid, int turn) {
  int values[length];
  fill(values, turn);
  const MPI_Offset start = 0, count = count_of(turn);
  if (has_turn(turn)) CHECK(ncmpi_put_vara_int(ncid, 0, &start, &count, values));
}

static void write_file(const char* path) {
  int ncid, dimension, variable, turn = 0;
  CHECK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_def_dim(ncid, "x", length, &dimension));
  CHECK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dimension, &variable));
  CHECK(ncmpi_enddef(ncid));
  while (turn < 3) put_together(ncid, turn++);
  CHECK(ncmpi_begin_indep_data(ncid));
  while (turn < 6) {
    put_alone(ncid, turn++);
    CHECK(ncmpi_sync(ncid));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  put_alone(ncid, turn++);
  CHECK(ncmpi_end_indep_data(ncid));
  CHECK(ncmpi_begin_indep_data(ncid));
  put_alone(ncid, turn++);
  CHECK(ncmpi_end_indep_data(ncid));
  put_together(ncid, turn++);
  CHECK(ncmpi_close(ncid));
  while (turn < turns) {
    CHECK(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
    CHECK(ncmpi_begin_indep_data(ncid));
    put_alone(ncid, turn++);
    CHECK(ncmpi_end_indep_data(ncid));
    CHECK(ncmpi_close(ncid));
  }
}

static void read_file(const char* path) {
  int ncid, values[length], wrong = 0;
  CHECK(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_get_var_int_all(ncid, 0, values));
  CHECK(ncmpi_close(ncid));
  for (int i = 0; i < length; ++i) {
    const int expected = i < count_of(turns - 1) ? turns : turns - (i - (int)count_of(turns - 1)) / 16 - 1;
    if (values[i] != expected && wrong++ < 20)
      fprintf(stderr, "rank %d: element %d is of turn %d, expected %d\n", rank, i, values[i], expected);
  }
  if (wrong) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc == 3 && strcmp(argv[1], "writer") == 0) {
    write_file(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      FILE* done = fopen("written", "w"); /* for a reader that wants the last step */
      if (done) fclose(done);
    }
  } else {
    read_file(argv[2]);
  }
  MPI_Finalize();
  return 0;
}
