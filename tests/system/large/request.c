/* request PATH [derived]: puts more than 2^31 elements in one call, and gets them in one call. One buffer
 * of 2.1 GiB serves both. With "derived", the put is nonblocking, with a list of two regions and a buffer
 * that a datatype scatters. The get has another such datatype. Both have a count of datatypes that
 * describe more bytes than an int can count. */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const MPI_Offset elements = 2200000001LL; /* more than 2^31, and no multiple of anything */

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s (%s)\n", what, ncmpi_strerrno(status), sluice_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) check((call), #call)

/* Different in any two blocks of 2^31 or 2^32 bytes. */
static unsigned char value_at(MPI_Offset i) {
  return (unsigned char)((unsigned long long)i * 0x9e3779b97f4a7c15ULL >> 56);
}

/* Checks every `step`th value. */
static void expect_values(const unsigned char* buffer, MPI_Offset step, const char* what) {
  for (MPI_Offset i = 0; i < elements; i += step) {
    if (buffer[i] == value_at(i)) continue;
    fprintf(stderr, "%s: element %lld is %d, not %d\n", what, (long long)i, buffer[i], value_at(i));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

enum { block = 100, half = block / 2 };

/* The bytes of a block, with its halves exchanged. */
static MPI_Datatype exchanged_halves(void) {
  const int lengths[2] = {half, half}, places[2] = {half, 0};
  MPI_Datatype halves, type;
  MPI_Type_indexed(2, lengths, places, MPI_CHAR, &halves);
  MPI_Type_create_resized(halves, 0, block, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&halves);
  return type;
}

static void exchange_halves(unsigned char* buffer) {
  unsigned char kept[half];
  for (MPI_Offset i = 0; i + block <= elements; i += block) {
    memcpy(kept, buffer + i, half);
    memcpy(buffer + i, buffer + i + half, half);
    memcpy(buffer + i + half, kept, half);
  }
}

/* Puts all elements except the last one, as two regions in one request. In memory the halves of blocks are
 * exchanged. */
static void put_derived(int ncid, int varid, unsigned char* buffer) {
  MPI_Offset first[1] = {0}, second[1] = {1100000000}, length[1] = {1100000000}, last[1] = {elements - 1};
  MPI_Offset *starts[2] = {first, second}, *counts[2] = {length, length};
  MPI_Datatype type = exchanged_halves();
  int request, status = NC_NOERR;
  exchange_halves(buffer);
  MUST(ncmpi_iput_varn(ncid, varid, 2, starts, counts, buffer, (elements - 1) / block, type, &request));
  MUST(ncmpi_wait_all(ncid, 1, &request, &status));
  MUST(status);
  MUST(ncmpi_put_var1_text_all(ncid, varid, last, (const char*)buffer + elements - 1));
  exchange_halves(buffer);
  MPI_Type_free(&type);
}

static void get_derived(int ncid, int varid, unsigned char* buffer) {
  const MPI_Offset start[1] = {0}, count[1] = {elements - 1}, last[1] = {elements - 1};
  MPI_Datatype type = exchanged_halves();
  MUST(ncmpi_get_vara_all(ncid, varid, start, count, buffer, (elements - 1) / block, type));
  MUST(ncmpi_get_var1_text_all(ncid, varid, last, (char*)buffer + elements - 1));
  exchange_halves(buffer);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  int ncid, dimid, varid;
  const MPI_Offset start[1] = {0}, count[1] = {elements};
  MPI_Init(&argc, &argv);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const int is_derived = argc > 2 && strcmp(argv[2], "derived") == 0;
  unsigned char* buffer =
      mmap(NULL, (size_t)elements, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  for (MPI_Offset i = 0; i < elements; ++i) buffer[i] = value_at(i);

  MUST(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", elements, &dimid));
  MUST(ncmpi_def_var(ncid, "text", NC_CHAR, 1, &dimid, &varid));
  MUST(ncmpi_enddef(ncid));
  if (is_derived)
    put_derived(ncid, varid, buffer);
  else
    MUST(ncmpi_put_vara_text_all(ncid, varid, start, count, (const char*)buffer));
  expect_values(buffer, 10007, "the user's buffer after the put");
  MUST(ncmpi_close(ncid));

  madvise(buffer, (size_t)elements, MADV_DONTNEED); /* zeros from here on */
  MUST(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &ncid));
  /* The flexible form, too, takes amounts larger than an int. */
  if (is_derived)
    get_derived(ncid, varid, buffer);
  else
    MUST(ncmpi_get_vara_all(ncid, varid, start, count, buffer, elements, MPI_CHAR));
  expect_values(buffer, 1, "what was got");
  MUST(ncmpi_close(ncid));
  MPI_Finalize();
  return 0;
}
