// farm write|read: each rank works alone, in the directory d<rank>, on its own file x.nc, which contains the
// rank. `write` changes to the directory; `read` stays and names it.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", what, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_own(int rank) {
  char directory[32];
  snprintf(directory, sizeof directory, "d%d", rank);
  if (chdir(directory) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  int ncid, variable;
  check(ncmpi_create(MPI_COMM_SELF, "x.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_var(ncid, "rank", NC_INT, 0, NULL, &variable), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  check(ncmpi_put_var_int_all(ncid, variable, &rank), "put");
  check(ncmpi_close(ncid), "close");
}

static void read_named(int rank) {
  char path[32];
  snprintf(path, sizeof path, "d%d/x.nc", rank);
  int ncid, found = -1;
  check(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  check(ncmpi_get_var_int_all(ncid, 0, &found), "get");
  check(ncmpi_close(ncid), "close");
  if (found == rank) return;
  fprintf(stderr, "%s is that of rank %d\n", path, found);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && strcmp(argv[1], "write") == 0)
    write_own(rank);
  else
    read_named(rank);
  MPI_Finalize();
  return 0;
}
