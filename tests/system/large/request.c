/* request PATH: puts more than 2^31 elements in one call, and gets them in one call. One buffer of 2.1 GiB
 * serves for both. */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const MPI_Offset elements = 2200000001LL; /* beyond 2^31, and no multiple of anything */

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s (%s)\n", what, ncmpi_strerrno(status), sluice_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) check((call), #call)

/* Not the same in any two blocks of 2^31 or 2^32 bytes. */
static unsigned char value_at(MPI_Offset i) {
  return (unsigned char)((unsigned long long)i * 0x9e3779b97f4a7c15ULL >> 56);
}

/* Every `step`th of the values. */
static void expect_values(const unsigned char* buffer, MPI_Offset step, const char* what) {
  for (MPI_Offset i = 0; i < elements; i += step) {
    if (buffer[i] == value_at(i)) continue;
    fprintf(stderr, "%s: element %lld is %d, not %d\n", what, (long long)i, buffer[i], value_at(i));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  int ncid, dimid, varid;
  const MPI_Offset start[1] = {0}, count[1] = {elements};
  MPI_Init(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  unsigned char* buffer =
      mmap(NULL, (size_t)elements, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  for (MPI_Offset i = 0; i < elements; ++i) buffer[i] = value_at(i);

  MUST(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", elements, &dimid));
  MUST(ncmpi_def_var(ncid, "text", NC_CHAR, 1, &dimid, &varid));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_put_vara_text_all(ncid, varid, start, count, (const char*)buffer));
  expect_values(buffer, 10007, "the user's buffer after the put");
  MUST(ncmpi_close(ncid));

  madvise(buffer, (size_t)elements, MADV_DONTNEED); /* zeros from here on */
  MUST(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &ncid));
  /* Amounts beyond int in the flexible form, too. */
  MUST(ncmpi_get_vara_all(ncid, varid, start, count, buffer, elements, MPI_CHAR));
  expect_values(buffer, 1, "what was got");
  MUST(ncmpi_close(ncid));
  MPI_Finalize();
  return 0;
}
