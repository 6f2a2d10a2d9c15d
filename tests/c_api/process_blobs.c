/* Files with one HDF5 blob for each process. The same calls write an ordinary file and one with blobs.
 * Both must read the same, by all ranks together and by one alone. Run it with any number of ranks.
 *   process_blobs example FILE     writes the documented example (two ranks)
 *   process_blobs read FILE        reads a whole file; prints the error and returns 1 if that fails
 *   process_blobs threads          writes several files at once */
#include <pthread.h>
#include <string.h>

#include "checks.h"

enum { ROWS = 3, COLUMNS = 30, RECORDS = 3, TYPES = 11, MOST = (RECORDS + 1) * ROWS * COLUMNS };
enum {
  whole = 2 * TYPES,
  own,
  partly,
  everybody,
  again,
  apart,
  fewer,
  filled,
  scalar,
  last_scalar,
  never,
  VARIABLES
};
static const nc_type types[TYPES] = {NC_BYTE,  NC_CHAR,   NC_SHORT, NC_INT,   NC_FLOAT, NC_DOUBLE,
                                     NC_UBYTE, NC_USHORT, NC_UINT,  NC_INT64, NC_UINT64};

static MPI_Info hints(const char* files) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "sluice_layout", "blob-process");
  if (files != NULL) MPI_Info_set(info, "nc_num_subfiles", files);
  return info;
}

static void define(int ncid) {
  int dims[3], id;
  char name[32];
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, dims));
  MUST(ncmpi_def_dim(ncid, "row", ROWS, dims + 1));
  MUST(ncmpi_def_dim(ncid, "column", COLUMNS, dims + 2));
  for (int t = 0; t < TYPES; ++t) {
    snprintf(name, sizeof name, "fixed%d", t);
    MUST(ncmpi_def_var(ncid, name, types[t], 2, dims + 1, &id));
    snprintf(name, sizeof name, "series%d", t);
    MUST(ncmpi_def_var(ncid, name, types[t], 3, dims, &id));
  }
  const int flat[2] = {dims[0], dims[2]};
  MUST(ncmpi_def_var(ncid, "whole", NC_DOUBLE, 2, flat, &id));
  MUST(ncmpi_def_var(ncid, "own", NC_INT, 1, dims + 2, &id));
  MUST(ncmpi_def_var(ncid, "partly", NC_INT, 2, dims + 1, &id));
  MUST(ncmpi_def_var(ncid, "everybody", NC_INT, 2, flat, &id));
  MUST(ncmpi_def_var(ncid, "again", NC_INT, 1, dims + 2, &id));
  MUST(ncmpi_def_var(ncid, "apart", NC_SHORT, 2, flat, &id));
  MUST(ncmpi_def_var(ncid, "fewer", NC_FLOAT, 2, flat, &id));
  MUST(ncmpi_def_var(ncid, "filled", NC_INT, 2, dims + 1, &id));
  MUST(ncmpi_def_var_fill(ncid, id, 0, NULL));
  MUST(ncmpi_def_var(ncid, "scalar", NC_DOUBLE, 0, NULL, &id));
  MUST(ncmpi_def_var(ncid, "last_scalar", NC_INT, 0, NULL, &id));
  MUST(ncmpi_def_var(ncid, "never", NC_DOUBLE, 2, flat, &id));
  MUST(ncmpi_put_att_text(ncid, 0, "units", 1, "K"));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "what"));
}

/* Every ranks-th element of each row, in a list; the type is that of the variable. */
static void put_columns(int ncid, int variable, nc_type type, int dimensions, int record) {
  MPI_Offset numbers[ROWS * COLUMNS][2][3], *start[ROWS * COLUMNS], *count[ROWS * COLUMNS];
  double values[ROWS * COLUMNS];
  char text[ROWS * COLUMNS];
  int pieces = 0;
  for (int row = 0; row < ROWS; ++row) {
    for (int i = (rank + row) % ranks; i < COLUMNS; i += ranks, ++pieces) {
      MPI_Offset at[3] = {record, row, i};
      for (int d = 0; d < dimensions; ++d) {
        numbers[pieces][0][d] = at[d + 3 - dimensions];
        numbers[pieces][1][d] = 1;
      }
      start[pieces] = numbers[pieces][0], count[pieces] = numbers[pieces][1];
      values[pieces] = (double)((variable * 7 + record * 31 + row * COLUMNS + i) % 120);
      text[pieces] = (char)values[pieces];
    }
  }
  if (type == NC_CHAR)
    MUST(ncmpi_put_varn_text_all(ncid, variable, pieces, start, count, text));
  else
    MUST(ncmpi_put_varn_double_all(ncid, variable, pieces, start, count, values));
}

static void put_record(int ncid, int record) {
  int values[COLUMNS];
  double doubles[COLUMNS];
  for (int t = 0; t < TYPES; ++t) {
    if (record == 0) put_columns(ncid, 2 * t, types[t], 2, 0);
    put_columns(ncid, 2 * t + 1, types[t], 3, record);
  }
  const MPI_Offset start[2] = {record, 0}, all[2] = {1, COLUMNS}, none[2] = {0, 0};
  for (int i = 0; i < COLUMNS; ++i) doubles[i] = record + i / 8.0;
  MUST(ncmpi_put_vara_double_all(ncid, whole, start, rank == 0 ? all : none, doubles));
  for (int i = 0; i < COLUMNS; ++i) values[i] = 50 * record + i;
  MUST(ncmpi_put_vara_int_all(ncid, everybody, start, all, values)); /* the same by all */
  /* Other elements of other processes in each record. */
  const int other = (rank + record) % ranks;
  const MPI_Offset begin[2] = {record, other * COLUMNS / ranks},
                   part[2] = {1, (other + 1) * COLUMNS / ranks - other * COLUMNS / ranks};
  for (int i = 0; i < COLUMNS; ++i) values[i] = 1000 * record + (int)begin[1] + i;
  MUST(ncmpi_put_vara_int_all(ncid, apart, begin, part, values));
  if (record == 1) MUST(ncmpi_put_vara_int_all(ncid, fewer, begin, part, values));
}

static void put_fixed(int ncid) {
  int values[COLUMNS];
  for (int i = 0; i < COLUMNS; ++i) values[i] = -i;
  const MPI_Offset zero = 0, all = rank == ranks - 1 ? COLUMNS : 0;
  MUST(ncmpi_put_vara_int_all(ncid, own, &zero, &all, values));
  const MPI_Offset start[2] = {1, 3}, count[2] = {rank == 0 ? 2 : 0, rank == 0 ? 4 : 0};
  MUST(ncmpi_put_vara_int_all(ncid, partly, start, count, values));
  MUST(ncmpi_put_vara_int_all(ncid, filled, start, count, values));
  /* Later calls win, whoever makes them. */
  for (int turn = 0; turn < 3; ++turn) {
    const int writer = (ranks - turn % ranks) % ranks;
    const MPI_Offset first = 5 * turn, length = rank == writer ? COLUMNS - 6 * turn : 0;
    for (int i = 0; i < COLUMNS; ++i) values[i] = 100 * turn + i;
    MUST(ncmpi_put_vara_int_all(ncid, again, &first, &length, values));
  }
  const double pressure = 1e5;
  const int seven = 7;
  MUST(ncmpi_begin_indep_data(ncid));
  if (rank == 0) MUST(ncmpi_put_var_double(ncid, scalar, &pressure));
  if (rank == ranks - 1) MUST(ncmpi_put_var_int(ncid, last_scalar, &seven));
  MUST(ncmpi_end_indep_data(ncid));
}

static void write_file(const char* path, MPI_Info info, int reads_between) {
  int ncid, values[MOST];
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, info, &ncid));
  define(ncid);
  MUST(ncmpi_enddef(ncid));
  put_fixed(ncid);
  for (int record = 0; record < RECORDS; ++record) put_record(ncid, record);
  if (reads_between) {
    MUST(ncmpi_get_var_int_all(ncid, everybody, values));
    for (int i = 0; i < RECORDS * COLUMNS; ++i) EXPECT(values[i] == 50 * (i / COLUMNS) + i % COLUMNS);
    MUST(ncmpi_sync(ncid));
    put_record(ncid, 1);
    MUST(ncmpi_begin_indep_data(ncid));
    MUST(ncmpi_get_var_int(ncid, again, values));
    EXPECT(values[1] == 1 && values[5] == 100 && values[10] == 200);
    MUST(ncmpi_end_indep_data(ncid));
  }
  MUST(ncmpi_close(ncid));
}

/* Everything, element by element, and a hyperslab with steps. */
static void compare(MPI_Comm comm, const char* path, const char* other, int variables, int records_there) {
  static double values[2][MOST];
  static char text[2][MOST];
  int ncids[2], count[2], attributes = 0;
  MPI_Offset records = 0;
  const char* const paths[2] = {path, other};
  for (int f = 0; f < 2; ++f) {
    MUST(ncmpi_open(comm, paths[f], NC_NOWRITE, MPI_INFO_NULL, &ncids[f]));
    MUST(ncmpi_inq_nvars(ncids[f], &count[f]));
    MUST(ncmpi_inq_dimlen(ncids[f], 0, &records));
    EXPECT(count[f] == variables && records == records_there);
    MUST(ncmpi_inq_natts(ncids[f], &attributes));
    EXPECT(attributes == 1);
    MUST(ncmpi_inq_varnatts(ncids[f], 0, &attributes));
    EXPECT(attributes == 1);
  }
  for (int v = 0; v < variables; ++v) {
    const int is_text = v < 2 * TYPES && types[v / 2] == NC_CHAR;
    memset(values, 0xEE, sizeof values);
    for (int f = 0; f < 2; ++f) {
      if (is_text)
        MUST(ncmpi_get_var_text_all(ncids[f], v, text[f]));
      else
        MUST(ncmpi_get_var_double_all(ncids[f], v, values[f]));
    }
    const int is_same = is_text ? memcmp(text[0], text[1], ROWS * COLUMNS) == 0
                                : memcmp(values[0], values[1], sizeof values[0]) == 0;
    if (!is_same) printf("variable %d differs\n", v);
    EXPECT(is_same);
  }
  const MPI_Offset start[3] = {0, 0, 1}, some[3] = {2, 2, 7}, stride[3] = {2, 2, 4};
  for (int f = 0; f < 2; ++f) {
    memset(values[f], 0, sizeof values[f]);
    MUST(ncmpi_get_vars_double_all(ncids[f], 11, start, some, stride, values[f]));
  }
  EXPECT(memcmp(values[0], values[1], sizeof values[0]) == 0);
  for (int f = 0; f < 2; ++f) MUST(ncmpi_close(ncids[f]));
}

/* A record more, a variable more, and elements anew: by all, then by one alone. */
static void append(const char* path) {
  int ncid, ids[2], id, value = 0;
  const MPI_Offset first = 0, length = 4;
  const int four[4] = {4, 3, 2, 1};
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  put_record(ncid, RECORDS);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_inq_dimid(ncid, "time", ids));
  MUST(ncmpi_inq_dimid(ncid, "column", ids + 1));
  MUST(ncmpi_def_var(ncid, "later", NC_INT, 2, ids, &id));
  MUST(ncmpi_enddef(ncid));
  put_columns(ncid, id, NC_INT, 2, 1);
  MUST(ncmpi_close(ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) {
    MUST(ncmpi_open(MPI_COMM_SELF, path, NC_WRITE, MPI_INFO_NULL, &ncid));
    MUST(ncmpi_begin_indep_data(ncid));
    MUST(ncmpi_put_vara_int(ncid, again, &first, &length, four));
    MUST(ncmpi_get_var1_int(ncid, again, &length, &value));
    EXPECT(value == 4);
    MUST(ncmpi_get_var1_int(ncid, again, &first, &value));
    EXPECT(value == 4);
    MUST(ncmpi_end_indep_data(ncid));
    MUST(ncmpi_close(ncid));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_mistakes(void) {
  int ncid, dim;
  MPI_Info info = hints("1");
  MUST(ncmpi_create(MPI_COMM_WORLD, "names.nc", NC_CLOBBER, info, &ncid));
  MUST(ncmpi_def_dim(ncid, "D1.nelems", 4, &dim));
  EXPECT(ncmpi_enddef(ncid) == NC_ENAMEINUSE);
  MUST(ncmpi_abort(ncid));
  EXPECT(!file_exists("names.nc") && !file_exists("names.nc.0000"));
  EXPECT(ncmpi_create(MPI_COMM_WORLD, "one.nc", NC_NOCLOBBER, info, &ncid) == NC_EEXIST);
  EXPECT(ncmpi_create(MPI_COMM_WORLD, "no/such/directory.nc", NC_CLOBBER, info, &ncid) != NC_NOERR);
  MPI_Info_free(&info);
  EXPECT(!file_exists(".one.nc.sluice-partial") && !file_exists(".one.nc.0000.sluice-partial"));
  if (rank == 0) MUST(ncmpi_delete("one.nc", MPI_INFO_NULL));
  EXPECT(!file_exists("one.nc") && !file_exists("one.nc.0000"));
}

/* Nothing defined; variables without a value; no records. */
static void check_empty(void) {
  int ncid, count = -1, dim, id, value = -1;
  MPI_Info info = hints(NULL);
  MUST(ncmpi_create(MPI_COMM_WORLD, "empty.nc", NC_CLOBBER, info, &ncid));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "empty.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_nvars(ncid, &count));
  EXPECT(count == 0);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_create(MPI_COMM_WORLD, "empty.nc", NC_CLOBBER, info, &ncid));
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dim));
  MUST(ncmpi_def_var(ncid, "series", NC_INT, 1, &dim, &id));
  MUST(ncmpi_def_var(ncid, "scalar", NC_INT, 0, NULL, &id));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "empty.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_get_var_int_all(ncid, 0, &value));
  MUST(ncmpi_get_var_int_all(ncid, 1, &value));
  EXPECT(value == 0);
  MUST(ncmpi_close(ncid));
  MPI_Info_free(&info);
}

/* The example of docs/formats/blobs-hdf5.md, by two processes. */
static int write_example(const char* path) {
  int ncid, dims[2], id;
  MPI_Info info = hints("1");
  const int status = ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, info, &ncid);
  MPI_Info_free(&info);
  if (status != NC_NOERR) {
    printf("status %s: %s\n", ncmpi_strerrno(status), sluice_last_error());
    return 1;
  }
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, dims));
  MUST(ncmpi_def_dim(ncid, "ncol", 4, dims + 1));
  MUST(ncmpi_def_var(ncid, "t", NC_FLOAT, 2, dims, &id));
  MUST(ncmpi_def_var(ncid, "day", NC_SHORT, 1, dims, &id));
  MUST(ncmpi_enddef(ncid));
  for (MPI_Offset record = 0; record < 2; ++record) {
    const MPI_Offset start[2] = {record, rank}, count[2] = {1, 2}, stride[2] = {1, 2};
    const float t[2] = {(float)(10 * record + rank), (float)(10 * record + rank + 2)};
    const short day = (short)(record + 1);
    const MPI_Offset one = rank == 0;
    MUST(ncmpi_put_vars_float_all(ncid, 0, start, count, stride, t));
    MUST(ncmpi_put_vara_short_all(ncid, 1, start, &one, &day));
  }
  MUST(ncmpi_close(ncid));
  return mistakes != 0;
}

/* Opens a file that may be damaged, and reads all of it. */
static int read_file(const char* path) {
  static double values[MOST];
  int ncid, variables = 0;
  int status = ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid);
  if (status == NC_NOERR) {
    MUST(ncmpi_inq_nvars(ncid, &variables));
    for (int v = 0; v < variables && status == NC_NOERR; ++v)
      status = ncmpi_get_var_double_all(ncid, v, values);
    MUST(ncmpi_close(ncid));
  }
  if (status != NC_NOERR) printf("status %s: %s\n", ncmpi_strerrno(status), sluice_last_error());
  return status != NC_NOERR;
}

/* Several threads, each with datasets and a communicator of its own, in another order on each rank. */
enum { THREADS = 2, FILES = 2 };
typedef struct {
  MPI_Comm comm;
  int number;
} Thread;

static void* use_own_files(void* argument) {
  const Thread* const thread = argument;
  char path[64];
  int ncid, dim, id, value = -1;
  MPI_Info info = hints("1");
  for (int file = 0; file < FILES; ++file) {
    snprintf(path, sizeof path, "thread%d_%d.nc", thread->number, file);
    const MPI_Offset mine = rank, one = 1, next = (rank + 1) % ranks;
    const int wanted = 1000 * thread->number + 100 * file;
    const int put = wanted + rank;
    MUST(ncmpi_create(thread->comm, path, NC_CLOBBER, info, &ncid));
    MUST(ncmpi_def_dim(ncid, "x", ranks, &dim));
    MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &dim, &id));
    MUST(ncmpi_enddef(ncid));
    MUST(ncmpi_put_vara_int_all(ncid, id, &mine, &one, &put));
    MUST(ncmpi_get_vara_int_all(ncid, id, &next, &one, &value));
    EXPECT(value == wanted + (int)next);
    MUST(ncmpi_close(ncid));
    MUST(ncmpi_open(thread->comm, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
    MUST(ncmpi_get_vara_int_all(ncid, id, &next, &one, &value));
    EXPECT(value == wanted + (int)next);
    MUST(ncmpi_close(ncid));
  }
  MPI_Info_free(&info);
  return NULL;
}

static void check_threads(void) {
  pthread_t ids[THREADS];
  Thread threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    threads[i].number = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
  }
  for (int i = 0; i < THREADS; ++i) {
    const int which = rank % 2 == 0 ? i : THREADS - 1 - i;
    EXPECT(pthread_create(&ids[which], NULL, use_own_files, &threads[which]) == 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(ids[i], NULL);
    MPI_Comm_free(&threads[i].comm);
  }
}

static int run_command(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "example") == 0) return write_example(argv[2]);
  if (argc == 3 && strcmp(argv[1], "read") == 0) return read_file(argv[2]);
  return 2;
}

int main(int argc, char** argv) {
  const int has_threads = argc == 2 && strcmp(argv[1], "threads") == 0;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  start_ranks();
  if (argc > 1) {
    if (has_threads && provided == MPI_THREAD_MULTIPLE) check_threads();
    const int result = has_threads ? mistakes != 0 : run_command(argc, argv);
    MPI_Finalize();
    return result;
  }
  write_file("plain.nc", MPI_INFO_NULL, 0);
  MPI_Info one = hints("1"), several = hints("3");
  write_file("one.nc", one, 0);
  write_file("several.nc", several, 1);
  MPI_Info_free(&one), MPI_Info_free(&several);
  compare(MPI_COMM_WORLD, "plain.nc", "one.nc", VARIABLES, RECORDS);
  compare(MPI_COMM_WORLD, "plain.nc", "several.nc", VARIABLES, RECORDS);
  append("plain.nc");
  append("several.nc");
  compare(MPI_COMM_WORLD, "plain.nc", "several.nc", VARIABLES + 1, RECORDS + 1);
  if (rank == ranks - 1) compare(MPI_COMM_SELF, "plain.nc", "several.nc", VARIABLES + 1, RECORDS + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  check_empty();
  check_mistakes();
  return end_ranks();
}
