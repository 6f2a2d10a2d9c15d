/* fault writer STAGE | reader STAGE EXPECTED: one side of a coupling whose last rank kills itself
 * (SIGKILL) at a stage; "none" never does.
 * The writer writes case.1.nc, then case.2.nc. Its stages are in case.2.nc: create, enddef, put, close
 * (after that call), or start (before any).
 * The reader opens case.1.nc, then case.2.nc. EXPECTED is the name of the status of the second open; with
 * ANY, the open must only end. Its stages are: start, open, get.
 * fault many FILES | all FILES MICROSECONDS: writes large files, or reads them and checks every element.
 * The reader's last rank kills itself that long after the beginning of its first get (0: never). */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "../pitfalls/check.h"

int rank, ranks;
static const char* fatal_stage;

static void stage(const char* name) {
  if (rank == ranks - 1 && strcmp(name, fatal_stage) == 0) kill(getpid(), SIGKILL);
}

static void write_file(const char* path, int is_second) {
  int ncid = create_file(path, 0), dim, id;
  if (is_second) stage("create");
  OK(ncmpi_def_dim(ncid, "x", 1000 * (MPI_Offset)ranks, &dim));
  OK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dim, &id));
  OK(ncmpi_enddef(ncid));
  if (is_second) stage("enddef");
  const MPI_Offset start = 1000 * (MPI_Offset)rank, count = 1000;
  int values[1000];
  for (int k = 0; k < 1000; ++k) values[k] = (int)start + k;
  OK(ncmpi_put_vara_int_all(ncid, id, &start, &count, values));
  if (is_second) stage("put");
  OK(ncmpi_close(ncid));
  if (is_second) stage("close");
}

static void check_file(int ncid) {
  const MPI_Offset length = length_of(ncid, "x");
  int* values = malloc(sizeof *values * (size_t)length);
  OK(ncmpi_get_var_int_all(ncid, variable_of(ncid, "v"), values));
  for (MPI_Offset k = 0; k < length; ++k) EQUAL(values[k], k);
  free(values);
}

static void reader(const char* expected) {
  stage("start");
  int ncid = open_file("case.1.nc", NC_NOWRITE);
  stage("open");
  check_file(ncid);
  stage("get");
  OK(ncmpi_close(ncid));
  const int status = ncmpi_open(MPI_COMM_WORLD, "case.2.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (strcmp(expected, "ANY") != 0 && strcmp(ncmpi_strerrno(status), expected) != 0)
    FAIL("the second open gave %s, expected %s", ncmpi_strerrno(status), expected);
  if (status == NC_NOERR) {
    check_file(ncid);
    OK(ncmpi_close(ncid));
  }
  if (rank == 0) printf("second open: %s\n", ncmpi_strerrno(status));
}

/* 2 MiB of each rank. */
enum { large = 1 << 19 };

static const char* large_path(int file) {
  static char path[32];
  snprintf(path, sizeof path, "large.%d.nc", file);
  return path;
}

static void write_many(int files) {
  int* values = malloc(large * sizeof *values);
  for (int file = 0; file < files; ++file) {
    int ncid = create_file(large_path(file), 0), dim, id;
    OK(ncmpi_def_dim(ncid, "x", large * (MPI_Offset)ranks, &dim));
    OK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dim, &id));
    OK(ncmpi_enddef(ncid));
    const MPI_Offset start = large * (MPI_Offset)rank, count = large;
    for (int k = 0; k < large; ++k) values[k] = (int)start + k + file;
    OK(ncmpi_put_vara_int_all(ncid, id, &start, &count, values));
    OK(ncmpi_close(ncid));
  }
  free(values);
}

static void die(int number) {
  (void)number;
  kill(getpid(), SIGKILL);
}

static void read_many(int files, int microseconds) {
  signal(SIGALRM, die);
  for (int file = 0; file < files; ++file) {
    const int ncid = open_file(large_path(file), NC_NOWRITE);
    const MPI_Offset length = length_of(ncid, "x");
    int* values = malloc(sizeof *values * (size_t)length);
    const struct itimerval delay = {{0, 0}, {0, microseconds}};
    if (file == 0 && rank == ranks - 1 && microseconds > 0) setitimer(ITIMER_REAL, &delay, NULL);
    OK(ncmpi_get_var_int_all(ncid, variable_of(ncid, "v"), values));
    for (MPI_Offset k = 0; k < length; ++k) EQUAL(values[k], k + file);
    OK(ncmpi_close(ncid));
    free(values);
  }
  if (microseconds > 0) sleep(300); /* until the timer goes off */
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3)
    FAIL("usage: fault writer STAGE | reader STAGE EXPECTED | many FILES | all FILES MICROSECONDS");
  fatal_stage = argv[2];
  if (strcmp(argv[1], "writer") == 0) {
    stage("start");
    write_file("case.1.nc", 0);
    if (strcmp(fatal_stage, "sleep") == 0) sleep(300); /* the test ends this run */
    write_file("case.2.nc", 1);
  } else if (strcmp(argv[1], "many") == 0) {
    write_many(atoi(argv[2]));
  } else if (strcmp(argv[1], "all") == 0) {
    read_many(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);
  } else {
    reader(argc > 3 ? argv[3] : "ANY");
  }
  MPI_Finalize();
  return 0;
}
