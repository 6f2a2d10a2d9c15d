/* burst_writer FILE PUTS SLEEP_US [FIRST [EVERY]]: rank r puts rows of value 1000 i + r into record i of
 * rows(time, ranks, 8), for i below PUTS. It writes the number of completed puts to told.RANK. Then it
 * waits for ever, without closing the file.
 * If PUTS is negative, it closes the file after -PUTS puts, but not while the file "hold" exists.
 * With FIRST, it first creates the file with FIRST rows, closes it, and goes on when the file "go" exists.
 * With EVERY, it closes the file after each EVERY puts and opens it again; the attribute "part" is the number
 * of times. With FIRST -1, it opens the file, and does not create it. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../support/checked_call.h"

static void tell(FILE* file, int puts) {
  rewind(file);
  fprintf(file, "%10d\n", puts);
  fflush(file);
}

static int rank, size;

static int create(const char* path, int* varid) {
  int ncid, dimids[3];
  CHECK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]));
  CHECK(ncmpi_def_dim(ncid, "rank", size, &dimids[1]));
  CHECK(ncmpi_def_dim(ncid, "x", 8, &dimids[2]));
  CHECK(ncmpi_def_var(ncid, "rows", NC_INT, 3, dimids, varid));
  CHECK(ncmpi_enddef(ncid));
  CHECK(ncmpi_begin_indep_data(ncid));
  return ncid;
}

static int open_again(const char* path, int* varid, const int* part) {
  int ncid;
  CHECK(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_inq_varid(ncid, "rows", varid));
  if (part != NULL) {
    CHECK(ncmpi_redef(ncid));
    CHECK(ncmpi_put_att_int(ncid, NC_GLOBAL, "part", NC_INT, 1, part));
    CHECK(ncmpi_enddef(ncid));
  }
  CHECK(ncmpi_begin_indep_data(ncid));
  return ncid;
}

static void put_rows(const char* path, int puts, int sleep_us, int ends, int every, int is_new) {
  int varid;
  int ncid = is_new ? create(path, &varid) : open_again(path, &varid, NULL);
  char name[64];
  snprintf(name, sizeof name, "told.%d", rank);
  FILE* file = fopen(name, "w");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < puts; ++i) {
    if (every > 0 && i > 0 && i % every == 0) {
      const int part = i / every;
      CHECK(ncmpi_end_indep_data(ncid));
      CHECK(ncmpi_close(ncid));
      ncid = open_again(path, &varid, &part);
    }
    const MPI_Offset start[] = {i, rank, 0}, count[] = {1, 1, 8};
    double row[8];
    for (int k = 0; k < 8; ++k) row[k] = 1000.0 * i + rank;
    CHECK(ncmpi_put_vara_double(ncid, varid, start, count, row));
    tell(file, i + 1);
    if (sleep_us > 0) usleep((useconds_t)sleep_us); /* to be slow */
  }
  while (!ends) pause();
  while (access("hold", F_OK) == 0) usleep(10000);
  fclose(file);
  CHECK(ncmpi_end_indep_data(ncid));
  CHECK(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int puts = atoi(argv[2]), sleep_us = atoi(argv[3]);
  const int first = argc > 4 ? atoi(argv[4]) : 0;
  if (first > 0) {
    put_rows(argv[1], first, 0, 1, 0, 1);
    while (access("go", F_OK) != 0) usleep(10000);
  }
  put_rows(argv[1], abs(puts), sleep_us, puts<0, argc> 5 ? atoi(argv[5]) : 0, first >= 0);
  MPI_Finalize();
  return 0;
}
