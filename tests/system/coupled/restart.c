// restart COMMAND NAME RECORDS …: files from before the run. All ranks work together unless stated otherwise:
//   make        creates it, with RECORDS records
//   check       opens it for reading, and checks that it has exactly these records
//   full        the same, and checks that it has the variable of `redefine`
//   append      opens it for writing, checks its records, and adds one
//   redefine    the same, and defines and writes another variable
//   alone       each rank by itself opens it for writing and writes the record RECORDS + its rank
//   in_turn     the same, one rank after the other
//   until       opens it again and again until it has RECORDS records and the variable of `redefine`; it
//       never has only the 3 records from before the run
//   follow      the same, without the last condition
//   format      asks for its format, which must be RECORDS
//   missing     opens it for reading, and for writing with RECORDS = 1, which must give NC_ENOENT
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { length = 5000 };

static int rank, ranks;

static void fail(const char* what, const char* name, const char* why) {
  fprintf(stderr, "rank %d: %s %s: %s\n", rank, what, name, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

__attribute__((weak)) const char* sluice_last_error(void);

static void check(int status, const char* what, const char* name) {
  if (status == NC_NOERR) return;
  if (sluice_last_error != NULL) fprintf(stderr, "rank %d: %s\n", rank, sluice_last_error());
  fail(what, name, ncmpi_strerrno(status));
}

static void put_record(int ncid, MPI_Offset record, const char* name) {
  int wave, time;
  check(ncmpi_inq_varid(ncid, "wave", &wave), "inq_varid", name);
  check(ncmpi_inq_varid(ncid, "time", &time), "inq_varid", name);
  int* values = malloc(length * sizeof *values);
  for (int i = 0; i < length; ++i) values[i] = (int)record * length + i;
  const MPI_Offset start[2] = {record, 0}, count[2] = {1, length};
  const double now = (double)record / 2;
  check(ncmpi_put_vara_int_all(ncid, wave, start, count, values), "put", name);
  check(ncmpi_put_var1_double_all(ncid, time, &record, &now), "put", name);
  free(values);
}

static void make(const char* name, MPI_Offset records) {
  int ncid, t, x, dims[2], variable;
  check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &ncid), "create",
        name);
  check(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 7, "a start"), "put_att", name);
  check(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t), "def_dim", name);
  check(ncmpi_def_dim(ncid, "x", length, &x), "def_dim", name);
  dims[0] = t, dims[1] = x;
  check(ncmpi_def_var(ncid, "wave", NC_INT, 2, dims, &variable), "def_var", name);
  check(ncmpi_def_var(ncid, "time", NC_DOUBLE, 1, &t, &variable), "def_var", name);
  check(ncmpi_def_var(ncid, "depth", NC_SHORT, 1, &x, &variable), "def_var", name);
  check(ncmpi_def_var(ncid, "words", NC_CHAR, 1, &x, &variable), "def_var", name);
  check(ncmpi_def_var(ncid, "scale", NC_FLOAT, 0, NULL, &variable), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  short depth[length];
  char words[length];
  for (int i = 0; i < length; ++i) depth[i] = (short)(i * 7), words[i] = (char)('a' + i % 26);
  const float scale = 0.25F;
  check(ncmpi_put_var_short_all(ncid, 2, depth), "put", name);
  check(ncmpi_put_var_text_all(ncid, 3, words), "put", name);
  check(ncmpi_put_var_float_all(ncid, 4, &scale), "put", name);
  for (MPI_Offset record = 0; record < records; ++record) put_record(ncid, record, name);
  check(ncmpi_close(ncid), "close", name);
}

static MPI_Offset count_records(int ncid, const char* name) {
  int t;
  MPI_Offset records;
  check(ncmpi_inq_unlimdim(ncid, &t), "inq_unlimdim", name);
  check(ncmpi_inq_dimlen(ncid, t, &records), "inq_dimlen", name);
  return records;
}

static void check_contents(int ncid, const char* name, MPI_Offset records) {
  if (count_records(ncid, name) != records) fail("check", name, "another number of records");
  char title[8] = "";
  check(ncmpi_get_att_text(ncid, NC_GLOBAL, "title", title), "get_att", name);
  if (memcmp(title, "a start", 7) != 0) fail("check", name, "another title");
  short depth[length];
  char words[length];
  float scale;
  int* wave = malloc((size_t)records * length * sizeof *wave + 1);
  double* time = malloc((size_t)records * sizeof *time + 1);
  check(ncmpi_get_var_int_all(ncid, 0, wave), "get", name);
  check(ncmpi_get_var_double_all(ncid, 1, time), "get", name);
  check(ncmpi_get_var_short_all(ncid, 2, depth), "get", name);
  check(ncmpi_get_var_text_all(ncid, 3, words), "get", name);
  check(ncmpi_get_var_float_all(ncid, 4, &scale), "get", name);
  for (MPI_Offset i = 0; i < records * length; ++i)
    if (wave[i] != i) fail("check", name, "another wave");
  for (MPI_Offset i = 0; i < records; ++i)
    if (time[i] != (double)i / 2) fail("check", name, "another time");
  for (int i = 0; i < length; ++i)
    if (depth[i] != (short)(i * 7) || words[i] != 'a' + i % 26) fail("check", name, "other fixed variables");
  if (scale != 0.25F) fail("check", name, "another scale");
  free(wave);
  free(time);
}

static void check_more(int ncid, const char* name) {
  int more;
  long long values[length];
  check(ncmpi_inq_varid(ncid, "more", &more), "inq_varid", name);
  check(ncmpi_get_var_longlong_all(ncid, more, values), "get", name);
  for (int i = 0; i < length; ++i)
    if (values[i] != -i) fail("check", name, "another variable that was added");
}

static int open_file(MPI_Comm comm, const char* name, int mode) {
  int ncid;
  check(ncmpi_open(comm, name, mode, MPI_INFO_NULL, &ncid), "open", name);
  return ncid;
}

static void redefine(int ncid, const char* name) {
  int x, more, values[length];
  for (int i = 0; i < length; ++i) values[i] = -i;
  check(ncmpi_redef(ncid), "redef", name);
  check(ncmpi_inq_dimid(ncid, "x", &x), "inq_dimid", name);
  check(ncmpi_def_var(ncid, "more", NC_INT, 1, &x, &more), "def_var", name);
  check(ncmpi_enddef(ncid), "enddef", name);
  check(ncmpi_put_var_int_all(ncid, more, values), "put", name);
}

static void read_until(const char* name, MPI_Offset records, MPI_Offset least) {
  for (int is_full = 0; !is_full; usleep(20000)) {
    int more;
    const int ncid = open_file(MPI_COMM_WORLD, name, NC_NOWRITE);
    const MPI_Offset found = count_records(ncid, name);
    if (found < least) fail("until", name, "it is as it was before the run");
    is_full = found == records && ncmpi_inq_varid(ncid, "more", &more) == NC_NOERR;
    check_contents(ncid, name, found);
    if (is_full) check_more(ncid, name);
    check(ncmpi_close(ncid), "close", name);
  }
}

static void act(const char* command, const char* name, MPI_Offset records) {
  int ncid = -1, found = 0;
  if (strcmp(command, "make") == 0) return make(name, records);
  if (strcmp(command, "until") == 0) return read_until(name, records, 4);
  if (strcmp(command, "follow") == 0) return read_until(name, records, 0);
  if (strcmp(command, "format") == 0) {
    check(ncmpi_inq_file_format(name, &found), "inq_file_format", name);
    if (found != records) fail("format", name, "another format");
    return;
  }
  if (strcmp(command, "missing") == 0) {
    if (ncmpi_open(MPI_COMM_WORLD, name, records ? NC_WRITE : NC_NOWRITE, MPI_INFO_NULL, &ncid) != NC_ENOENT)
      fail("missing", name, "it is there");
    return;
  }
  const int is_in_turn = strcmp(command, "in_turn") == 0;
  const int is_alone = is_in_turn || strcmp(command, "alone") == 0;
  const int writes = is_alone || strcmp(command, "append") == 0 || strcmp(command, "redefine") == 0;
  for (int before = 0; is_in_turn && before < rank; ++before) MPI_Barrier(MPI_COMM_WORLD);
  ncid = open_file(is_alone ? MPI_COMM_SELF : MPI_COMM_WORLD, name, writes ? NC_WRITE : NC_NOWRITE);
  if (is_alone) {
    put_record(ncid, records + rank, name);
    check(ncmpi_close(ncid), "close", name);
    for (int after = is_in_turn ? rank : ranks - 1; after < ranks; ++after) MPI_Barrier(MPI_COMM_WORLD);
    return;
  } else {
    check_contents(ncid, name, records);
    if (writes) put_record(ncid, records, name), check_contents(ncid, name, records + 1);
    if (strcmp(command, "redefine") == 0) redefine(ncid, name);
    if (strcmp(command, "redefine") == 0 || strcmp(command, "full") == 0) check_more(ncid, name);
  }
  check(ncmpi_close(ncid), "close", name);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i + 2 < argc; i += 3) act(argv[i], argv[i + 1], atoll(argv[i + 2]));
  MPI_Finalize();
  return 0;
}
