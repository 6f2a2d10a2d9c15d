// follow ROLE NAME RECORDS …: one side of a file that is read while it is written. The file has rows(n, x) of
// fixed size, and records(t, x) that grow. In each round both get one row; each rank puts its part. The
// roles:
//   write NAME RECORDS [SYNCS KILL]
//                            puts RECORDS rows and records, each followed by ncmpi_sync if SYNCS is 1; before
//                                the sync of round KILL the last rank kills itself
//   records NAME RECORDS     follows the records from one open, by ncmpi_sync_numrecs
//   reopen NAME RECORDS      the same by opening the file again and again
//   rows NAME RECORDS        gets row by row; each get waits until the row is there
//   cut NAME RECORDS SEEN    follows until SEEN records are there; no more records and no errors come until
//       the test has made the file "dead"
//   rest NAME RECORDS SEEN   gets row by row; from row SEEN on they are fill values
//   knot NAME RECORDS OTHER  creates NAME and waits for a row of OTHER, whose writer does the same: an error
//   peek NAME RECORDS        opens it; it has at least RECORDS records
//   fill NAME RECORDS        puts rounds until memory is full, which must happen before RECORDS
// A NAME with %d stands for FILES (environment) files, one after another.
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int columns = 37; /* or COLUMNS of the environment */
static int fills;        /* with FILL in the environment: fill mode is on, and each record is filled first */
static int rank, ranks;

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, call, ncmpi_strerror(status), ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(int condition, const char* what, MPI_Offset number) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s (%lld)\n", rank, what, (long long)number);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(MPI_Offset row, MPI_Offset column) {
  return (double)row * 1000 + (double)column + 0.25;
}

/* The pause between two looks. A look is short, so most of the time is pause. */
static void pause_a_moment(void) {
  usleep(2000);
}

static int create_file(const char* name, MPI_Offset records, int* rows_of, int* records_of) {
  int ncid, dims[3];
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dims[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "n", records, &dims[1]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", columns, &dims[2]), "def_dim");
  int old_mode;
  if (fills) check(ncmpi_set_fill(ncid, NC_FILL, &old_mode), "set_fill");
  const int of_rows[] = {dims[1], dims[2]}, of_records[] = {dims[0], dims[2]};
  check(ncmpi_def_var(ncid, "rows", NC_DOUBLE, 2, of_rows, rows_of), "def_var");
  check(ncmpi_def_var(ncid, "records", NC_DOUBLE, 2, of_records, records_of), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  return ncid;
}

static void write_file(const char* name, MPI_Offset records, int syncs, MPI_Offset kill_round) {
  int rows_of, records_of;
  const int ncid = create_file(name, records, &rows_of, &records_of);
  const MPI_Offset first = columns * rank / ranks, count = columns * (rank + 1) / ranks - first;
  double values[columns];
  for (MPI_Offset row = 0; row < records; ++row) {
    for (MPI_Offset i = 0; i < count; ++i) values[i] = value(row, first + i);
    const MPI_Offset start[] = {row, first}, counts[] = {1, count};
    if (fills) {
      check(ncmpi_fill_var_rec(ncid, records_of, row), "fill_var_rec");
      usleep(3000); /* gives readers that do not wait a chance to meet fill values */
    }
    check(ncmpi_put_vara_double_all(ncid, records_of, start, counts, values), "put a record");
    check(ncmpi_put_vara_double_all(ncid, rows_of, start, counts, values), "put a row");
    if (row == kill_round) {
      MPI_Barrier(MPI_COMM_WORLD); /* all ranks have put */
      if (rank == ranks - 1) raise(SIGKILL);
      pause();
    }
    if (syncs) check(ncmpi_sync(ncid), "sync");
    usleep(3000); /* slow, so that readers see the file grow */
  }
  check(ncmpi_close(ncid), "close");
}

static int open_file(const char* name, int* records_of) {
  int ncid;
  check(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  check(ncmpi_inq_varid(ncid, "records", records_of), "inq_varid");
  return ncid;
}

static MPI_Offset records_in(int ncid) {
  int dimension;
  MPI_Offset records, least;
  check(ncmpi_inq_unlimdim(ncid, &dimension), "inq_unlimdim");
  check(ncmpi_inq_dimlen(ncid, dimension, &records), "inq_dimlen");
  MPI_Allreduce(&records, &least, 1, MPI_OFFSET, MPI_MIN, MPI_COMM_WORLD);
  expect(least == records, "the ranks see different numbers of records", records);
  return records;
}

/* Rows [first, end) as they were put; from `written` on, fill values. Each rank reads a part of the
 * columns. */
static void read_rows(int ncid, int variable, MPI_Offset first, MPI_Offset end, MPI_Offset written) {
  double values[columns];
  for (MPI_Offset row = first; row < end; ++row) {
    const MPI_Offset start[] = {row, rank % columns}, counts[] = {1, columns - rank % columns};
    check(ncmpi_get_vara_double_all(ncid, variable, start, counts, values), "get");
    for (MPI_Offset i = 0; i < counts[1]; ++i) {
      const double wanted = row < written ? value(row, start[1] + i) : NC_FILL_DOUBLE;
      expect(values[i] == wanted, "a wrong value in row", row);
    }
  }
}

static void follow_records(const char* name, MPI_Offset records) {
  int variable;
  const int ncid = open_file(name, &variable);
  for (MPI_Offset seen = 0; seen < records;) {
    const MPI_Offset now = records_in(ncid);
    expect(now >= seen && now <= records, "the number of records", now);
    read_rows(ncid, variable, seen, now, records);
    seen = now;
    double value;
    const MPI_Offset start[] = {now, 0}, counts[] = {1, 1};
    expect(ncmpi_get_vara_double_all(ncid, variable, start, counts, &value) == NC_EINVALCOORDS,
           "a record that is not there", now);
    pause_a_moment();
    check(ncmpi_sync_numrecs(ncid), "sync_numrecs");
  }
  check(ncmpi_sync(ncid), "sync");
  expect(records_in(ncid) == records, "records at the end", records_in(ncid));
  check(ncmpi_close(ncid), "close");
}

static void reopen(const char* name, MPI_Offset records) {
  for (MPI_Offset seen = 0; seen < records;) {
    int variable;
    const int ncid = open_file(name, &variable);
    const MPI_Offset now = records_in(ncid);
    expect(now >= seen && now <= records, "the number of records", now);
    read_rows(ncid, variable, seen, now, records);
    seen = now;
    check(ncmpi_close(ncid), "close");
    pause_a_moment();
  }
}

static void await_rows(const char* name, MPI_Offset records, MPI_Offset written) {
  int variable;
  const int ncid = open_file(name, &variable);
  check(ncmpi_inq_varid(ncid, "rows", &variable), "inq_varid");
  read_rows(ncid, variable, 0, records, written);
  check(ncmpi_close(ncid), "close");
}

static void follow_to_cut(const char* name, MPI_Offset seen) {
  int variable;
  const int ncid = open_file(name, &variable);
  while (records_in(ncid) < seen) {
    pause_a_moment();
    check(ncmpi_sync_numrecs(ncid), "sync_numrecs");
  }
  for (int is_dead = 0; !is_dead;) { /* the test makes the file "dead" when the writer's end is known */
    is_dead = access("dead", F_OK) == 0;
    MPI_Bcast(&is_dead, 1, MPI_INT, 0, MPI_COMM_WORLD);
    pause_a_moment();
    check(ncmpi_sync_numrecs(ncid), "sync_numrecs");
    expect(records_in(ncid) == seen, "records of a writer that died", records_in(ncid));
  }
  read_rows(ncid, variable, 0, seen, seen);
  check(ncmpi_close(ncid), "close");
  const int again = open_file(name, &variable);
  expect(records_in(again) == seen, "records of a writer that died, opened again", records_in(again));
  read_rows(again, variable, 0, seen, seen);
  check(ncmpi_close(again), "close");
}

static void tie_knot(const char* name, MPI_Offset records, const char* other) {
  int rows_of, records_of, variable;
  const int ncid = create_file(name, records, &rows_of, &records_of);
  const int theirs = open_file(other, &variable);
  check(ncmpi_inq_varid(theirs, "rows", &variable), "inq_varid");
  double value;
  const MPI_Offset start[] = {0, 0}, counts[] = {1, 1};
  const int status = ncmpi_get_vara_double_all(theirs, variable, start, counts, &value);
  expect(status == NC_EIO || status == NC_NOERR, "a get that can never come", status);
  if (status == NC_EIO) fprintf(stderr, "the knot is cut\n");
  check(ncmpi_close(theirs), "close");
  check(ncmpi_close(ncid), "close");
}

static void peek(const char* name, MPI_Offset records) {
  int variable;
  const int ncid = open_file(name, &variable);
  expect(records_in(ncid) >= records, "the number of records", records);
  check(ncmpi_close(ncid), "close");
}

static void fill_memory(const char* name, MPI_Offset records) {
  enum { much = 1 << 17 };
  int ncid, dims[2], variable;
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dims[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", much, &dims[1]), "def_dim");
  check(ncmpi_def_var(ncid, "records", NC_DOUBLE, 2, dims, &variable), "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  double* const values = calloc(much, sizeof *values);
  int status = NC_NOERR;
  for (MPI_Offset row = 0; row < records && status == NC_NOERR; ++row) {
    const MPI_Offset start[] = {row, 0}, counts[] = {1, much};
    status = ncmpi_put_vara_double_all(ncid, variable, start, counts, values);
    if (status == NC_NOERR) check(ncmpi_sync(ncid), "sync");
  }
  free(values);
  expect(status == NC_ENO_SPACE, "a put without memory", status);
  check(ncmpi_close(ncid), "close");
}

static void play(const char* role, const char* name, int argc, char** argv) {
  const MPI_Offset records = atoll(argv[3]), number = argc > 4 ? atoll(argv[4]) : 0;
  if (!strcmp(role, "write"))
    write_file(name, records, (int)number, argc > 5 ? atoll(argv[5]) : -1);
  else if (!strcmp(role, "records"))
    follow_records(name, records);
  else if (!strcmp(role, "reopen"))
    reopen(name, records);
  else if (!strcmp(role, "rows"))
    await_rows(name, records, records);
  else if (!strcmp(role, "rest"))
    await_rows(name, records, number);
  else if (!strcmp(role, "cut"))
    follow_to_cut(name, number);
  else if (!strcmp(role, "knot"))
    tie_knot(name, records, argv[4]);
  else if (!strcmp(role, "peek"))
    peek(name, records);
  else if (!strcmp(role, "fill"))
    fill_memory(name, records);
  else
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (getenv("COLUMNS") != NULL) columns = atoi(getenv("COLUMNS"));
  fills = getenv("FILL") != NULL;
  if (argc < 4) return 2;
  const int files = getenv("FILES") && strstr(argv[2], "%d") ? atoi(getenv("FILES")) : 1;
  for (int i = 0; i < files; ++i) {
    char name[1000];
    snprintf(name, sizeof name, "%s", argv[2]);
    char* const place = strstr(name, "%d");
    if (place) snprintf(place, sizeof name - (size_t)(place - name), "%d%s", i, strstr(argv[2], "%d") + 2);
    play(argv[1], name, argc, argv);
  }
  MPI_Finalize();
  return 0;
}
