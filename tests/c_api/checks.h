/* Checks for programs of the C interface: each rank counts its mistakes and goes on. No library is needed;
 * a program is one file. */
#pragma once
#include <pnetcdf.h>
#include <stdio.h>
#include <unistd.h>

static int mistakes = 0;
static int rank = 0, ranks = 1;

#define EXPECT(condition) expect(condition, #condition)
static inline void expect(int holds, const char* condition) {
  if (holds) return;
  ++mistakes;
  printf("rank %d: not so: %s (%s)\n", rank, condition, sluice_last_error());
}
#define MUST(call) EXPECT((call) == NC_NOERR)

static inline void start_ranks(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* Collective, as all functions below. Returns an exit status: 1 if any rank has found a mistake. */
static inline int end_ranks(void) {
  MPI_Allreduce(MPI_IN_PLACE, &mistakes, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return mistakes != 0;
}

static inline int file_exists(const char* path) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int exists = access(path, F_OK) == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  return exists;
}
