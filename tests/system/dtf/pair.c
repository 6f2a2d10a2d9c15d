/* pair ROLE PREFIX CONFIGURATION: a program that was written for DTF, with DTF's calls.
 * writer, reader: three files, step_N.nc.
 * early-writer, early-reader: one file, which the writer keeps open until the reader has seen the
 * transferred data. */
#include <dtf.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { nx = 60, ny = 24, steps = 3 };
static int rank, ranks;

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  printf("rank %d: %s: %s\n", rank, what, ncmpi_strerror(status));
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(int condition, const char* what) {
  if (condition) return;
  printf("rank %d: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value_at(int step, int y, int x) {
  return 100000. * step + 1000. * y + x;
}

/* The writer puts rows of the field; the reader takes columns. */
static void put_step(int ncid, int id, int step) {
  static double values[ny][nx];
  const MPI_Offset start[2] = {ny * rank / ranks, 0}, count[2] = {ny * (rank + 1) / ranks - start[0], nx};
  for (int y = 0; y < count[0]; ++y)
    for (int x = 0; x < nx; ++x) values[y][x] = value_at(step, (int)start[0] + y, x);
  check(ncmpi_put_vara_double_all(ncid, id, start, count, &values[0][0]), "put");
}

static void get_step(int ncid, int id, int step) {
  static double values[ny * nx];
  const MPI_Offset start[2] = {0, nx * rank / ranks}, count[2] = {ny, nx * (rank + 1) / ranks - start[1]};
  check(ncmpi_get_vara_double_all(ncid, id, start, count, values), "get");
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < count[1]; ++x)
      expect(values[y * count[1] + x] == value_at(step, y, (int)start[1] + x), "a wrong value");
}

static int create(const char* path, int* id) {
  int ncid, dimensions[2];
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_dim(ncid, "y", ny, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", nx, &dimensions[1]), "def_dim");
  check(ncmpi_def_var(ncid, "field", NC_DOUBLE, 2, dimensions, id), "def_var");
  expect(dtf_transfer(path, ncid) == 0, "dtf_transfer in define mode");
  check(ncmpi_enddef(ncid), "enddef");
  return ncid;
}

static int open_file(const char* path, int* id) {
  int ncid;
  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  check(ncmpi_inq_varid(ncid, "field", id), "inq_varid");
  return ncid;
}

static void run_steps(int writes, const char* prefix) {
  for (int step = 1; step <= steps; ++step) {
    char path[256];
    int id, ncid;
    snprintf(path, sizeof path, "%s%d.nc", prefix, step);
    dtf_time_start();
    ncid = writes ? create(path, &id) : open_file(path, &id);
    if (writes) put_step(ncid, id, step);
    if (!writes) get_step(ncid, id, step);
    expect(dtf_transfer(path, ncid) == 0, "dtf_transfer");
    check(ncmpi_close(ncid), "close");
    expect(dtf_transfer(path, ncid) == 0, "dtf_transfer of a closed file");
    dtf_time_end();
  }
}

/* Transferred data is visible before the close. */
static void run_early(int writes, const char* prefix, int takes_all) {
  char path[256], seen[256];
  int id, ncid;
  snprintf(path, sizeof path, "%s0.nc", prefix);
  snprintf(seen, sizeof seen, "%sseen", prefix);
  if (writes) {
    ncid = create(path, &id);
    put_step(ncid, id, 7);
    if (takes_all) expect(dtf_transfer_all_files() == 0, "dtf_transfer_all_files");
    if (!takes_all) dtf_transfer_multiple(path, ncid);
    for (int tenths = 0; access(seen, F_OK) != 0; ++tenths) {
      expect(tenths < 600, "the reader has not seen what was transferred");
      usleep(100000);
    }
  } else {
    ncid = open_file(path, &id);
    get_step(ncid, id, 7);
    expect(dtf_transfer(path, ncid) == 0, "dtf_transfer by the reader");
    dtf_complete_multiple(path, ncid);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) fclose(fopen(seen, "w"));
  }
  check(ncmpi_close(ncid), "close");
}

int main(int argc, char** argv) {
  char name[] = "pair";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(argc == 4, "pair ROLE PREFIX CONFIGURATION");
  expect(dtf_init(NULL, name) == 1 && dtf_init("", name) == 1 && dtf_init(argv[3], NULL) == 1,
         "bad arguments");
  expect(dtf_transfer(NULL, 0) == 1 && dtf_transfer("x.nc", -1) == 0, "bad arguments of dtf_transfer");
  expect(dtf_init(argv[3], name) == 0, "dtf_init");
  const int writes = strstr(argv[1], "writer") != NULL;
  if (strncmp(argv[1], "early", 5) == 0) {
    run_early(writes, argv[2], 0);
  } else if (strncmp(argv[1], "all", 3) == 0) {
    run_early(writes, argv[2], 1);
  } else {
    run_steps(writes, argv[2]);
  }
  expect(dtf_finalize() == 0, "dtf_finalize");
  MPI_Finalize();
  return 0;
}
