/* One interface to PnetCDF and, with SERIAL, to the netCDF-C library, as far as random_files.c needs it. */
#ifndef SLUICE_TESTS_LAYER_H
#define SLUICE_TESTS_LAYER_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANK = 4 };

static int rank, ranks = 1;

#ifdef SERIAL

#include <netcdf.h>
#define NAME(function) nc_##function
#define ERROR_TEXT nc_strerror
typedef size_t extent;

/* With AS_RANKS it writes what so many ranks of a program of PnetCDF write, and reads what rank AS_RANK
 * reads. */
static void begin(int* argc, char*** argv) {
  (void)argc, (void)argv;
  if (getenv("AS_RANK") != NULL) rank = atoi(getenv("AS_RANK"));
  if (getenv("AS_RANKS") != NULL) ranks = atoi(getenv("AS_RANKS"));
}
static void end(void) {}
static void give_up(void) {
  exit(1);
}
static int create(const char* path, int mode, int* id) {
  return nc_create(path, mode, id);
}
static int open_file(const char* path, int mode, int* id) {
  return nc_open(path, mode, id);
}
static int least_of_all(int number) {
  return number;
}

#else

#include <mpi.h>
#include <pnetcdf.h>
#define NAME(function) ncmpi_##function
#define ERROR_TEXT ncmpi_strerror
typedef MPI_Offset extent;

static void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}
static void end(void) {
  MPI_Finalize();
}
static void give_up(void) {
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static int create(const char* path, int mode, int* id) {
  return ncmpi_create(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, id);
}
static int open_file(const char* path, int mode, int* id) {
  return ncmpi_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, id);
}
static int least_of_all(int number) {
  MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return number;
}

#endif

static void check(int status, const char* call, int line) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: line %d: %s: %s\n", rank, line, call, ERROR_TEXT(status));
  give_up();
}
#define MUST(call) check(call, #call, __LINE__)

#endif
