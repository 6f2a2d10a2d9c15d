// handover put|write DIRECTORY COUNT BYTES:  makes COUNT files of about BYTES, by PnetCDF or by the C library
// handover read DIRECTORY COUNT:             reads them by the C library, one after the other
// handover open FILE COUNT:                  opens and closes one file COUNT times
// Prints the time of its begin and that after each tenth of its work, in nanoseconds of the machine's clock.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
  exit(1);
}

static void tell_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
  fflush(stdout);
}

static void put_file(const char* path, char* data, long bytes) {
  int ncid, dimension, variable;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &ncid), path);
  check(ncmpi_def_dim(ncid, "x", bytes, &dimension), path);
  check(ncmpi_def_var(ncid, "v", NC_BYTE, 1, &dimension, &variable), path);
  check(ncmpi_enddef(ncid), path);
  check(ncmpi_put_var_schar_all(ncid, variable, (signed char*)data), path);
  check(ncmpi_close(ncid), path);
}

static void write_file(const char* path, const char* data, long bytes) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) fail(path);
  for (long done = 0; done < bytes;) {
    const ssize_t now = write(file, data + done, (size_t)(bytes - done));
    if (now < 0) fail(path);
    done += now;
  }
  if (close(file) != 0) fail(path);
}

static void read_file(const char* path, char* data, long most) {
  const int file = open(path, O_RDONLY);
  if (file < 0) fail(path);
  for (ssize_t now = 1; now > 0;) {
    now = read(file, data, (size_t)most);
    if (now < 0) fail(path);
  }
  close(file);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* const what = argv[1];
  const long count = atol(argv[3]), bytes = argc > 4 ? atol(argv[4]) : 1 << 20;
  const int puts = strcmp(what, "put") == 0;
  char* const data = malloc((size_t)bytes);
  memset(data, 7, (size_t)bytes);
  if (puts) MPI_Init(&argc, &argv);
  tell_time();
  for (long i = 0; i < count; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/hand_%06ld.nc", argv[2], i);
    if (puts) put_file(path, data, bytes);
    if (strcmp(what, "write") == 0) write_file(path, data, bytes);
    if (strcmp(what, "read") == 0) read_file(path, data, bytes);
    if (strcmp(what, "open") == 0) close(open(argv[2], O_RDONLY));
    if ((i + 1) % ((count + 9) / 10) == 0 || i + 1 == count) tell_time();
  }
  if (puts) MPI_Finalize();
  return 0;
}
