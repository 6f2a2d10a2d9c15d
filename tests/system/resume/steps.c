// steps write FIRST COUNT | steps read: the steps of the stream state.nc, each one number.
//   write  FIRST is 0 or 1, the number of resumes; writes the numbers from COUNT * FIRST, then the file
//          `all`; waits for the file `go`
//   read   adds each number to the file `seen` before it closes the step; after the first one it writes the
//          file `first`, and waits for the file `go`
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", call, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void make(const char* name) {
  fclose(fopen(name, "w"));
}

static void await_go(void) {
  while (access("go", F_OK) != 0) usleep(10000);
}

static void write_step(int number) {
  int ncid, variable;
  check(ncmpi_create(MPI_COMM_WORLD, "state.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_var(ncid, "v", NC_INT, 0, NULL, &variable), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  check(ncmpi_put_var_int_all(ncid, variable, &number), "put");
  check(ncmpi_close(ncid), "close");
}

static int read_step(void) {
  int ncid, variable, number;
  const int status = ncmpi_open(MPI_COMM_WORLD, "state.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (status == NC_ENOENT) return 0;
  check(status, "open");
  check(ncmpi_inq_varid(ncid, "v", &variable), "inq_varid");
  check(ncmpi_get_var_int_all(ncid, variable, &number), "get");
  FILE* seen = fopen("seen", "a");
  fprintf(seen, "%d\n", number);
  fclose(seen);
  check(ncmpi_close(ncid), "close");
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 4 && strcmp(argv[1], "write") == 0) {
    const int count = atoi(argv[3]), first = atoi(argv[2]) * count;
    for (int i = first; i < first + count; ++i) write_step(i);
    make("all");
    await_go();
  } else {
    const int is_first = access("first", F_OK) != 0;
    while (read_step()) {
      if (is_first) make("first");
      await_go();
    }
  }
  MPI_Finalize();
}
