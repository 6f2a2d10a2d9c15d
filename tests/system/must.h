// For test programs that end when a call fails. Include it once, and set `rank` behind MPI_Init.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

static int rank, ranks;

__attribute__((weak)) const char* sluice_last_error(void);

static void check(int status, const char* call, const char* name) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s %s: %s\n", rank, call, name, ncmpi_strerror(status));
  if (sluice_last_error != NULL) fprintf(stderr, "rank %d: %s\n", rank, sluice_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void require(int is_good, const char* what) {
  if (is_good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
