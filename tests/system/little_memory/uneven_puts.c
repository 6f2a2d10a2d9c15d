/* uneven_puts FILES BYTES: rank 0 puts one byte of each file a.1, a.2, …, and waits inside MPI for the
 * others, which put all the rest, and may have to wait for memory. */
#include <stdlib.h>

#include "../must.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  require(argc == 3 && ranks == 2, "usage: uneven_puts FILES BYTES, with 2 ranks");
  const MPI_Offset length = atoll(argv[2]), first = rank == 0 ? 0 : 1, count = rank == 0 ? 1 : length - 1;
  char* const bytes = calloc((size_t)length, 1);
  for (int i = 1; i <= atoi(argv[1]); ++i) {
    char name[32];
    int file, x, v;
    snprintf(name, sizeof name, "a.%d", i);
    check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &file), "create", name);
    check(ncmpi_def_dim(file, "x", length, &x), "def_dim", name);
    check(ncmpi_def_var(file, "v", NC_BYTE, 1, &x, &v), "def_var", name);
    check(ncmpi_enddef(file), "enddef", name);
    check(ncmpi_put_vara_schar_all(file, v, &first, &count, (signed char*)bytes), "put", name);
    MPI_Barrier(MPI_COMM_WORLD);
    check(ncmpi_close(file), "close", name);
  }
  free(bytes);
  MPI_Finalize();
  return 0;
}
