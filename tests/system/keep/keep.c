/* keep COMMAND ARGUMENTS …: writes files of all kinds, the same with and without a run, or reads them:
 *   types FORMAT NAME       all types of CDF-FORMAT, fixed-size and record variables, every element
 *   overwrite FORMAT NAME   elements that are put several times, in parts, with strides, by all ranks
 *   fill FORMAT NAME        unwritten elements, and fills of records
 *   layout NAME             hints and gaps in the header, and a variable that is added later
 *   append NAME RECORDS     a file that is reopened for each record
 *   empty NAME              only attributes, and no record
 *   large NAME MIB          one variable of MIB mebibytes; check NAME MIB reads it, touch NAME goes on in it
 *   noclobber NAME, delete NAME, read NAME, sleep MILLISECONDS, exit STATUS, kill SIGNAL (the last rank)
 * `repeat COUNT` before all others repeats them, with %d in names replaced by 0 … COUNT - 1. */
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static void check(int status, const char* call) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, call, ncmpi_strerror(status), ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) check(call, #call)

static int mode_of(int format) {
  return NC_CLOBBER | (format == 5 ? NC_64BIT_DATA : format == 2 ? NC_64BIT_OFFSET : 0);
}

/* This rank's share of `length`. */
static void share(MPI_Offset length, MPI_Offset* start, MPI_Offset* count) {
  *start = length * rank / ranks;
  *count = length * (rank + 1) / ranks - *start;
}

static void types(int format, const char* name) {
  const int n = format == 5 ? 11 : 6;
  const MPI_Offset rows = 7, columns = 13, records = 5;
  int ncid, dimids[3], fixed[11], record[11];
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, mode_of(format), MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]));
  CHECK(ncmpi_def_dim(ncid, "y", rows, &dimids[1]));
  CHECK(ncmpi_def_dim(ncid, "x", columns, &dimids[2]));
  CHECK(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 5, "types"));
  for (int type = NC_BYTE; type < NC_BYTE + n; ++type) {
    char text[20];
    snprintf(text, sizeof text, "fixed%d", type);
    CHECK(ncmpi_def_var(ncid, text, type, 2, dimids + 1, &fixed[type - NC_BYTE]));
    CHECK(ncmpi_put_att_int(ncid, fixed[type - NC_BYTE], "number", NC_INT, 1, &type));
    snprintf(text, sizeof text, "record%d", type);
    CHECK(ncmpi_def_var(ncid, text, type, 3, dimids, &record[type - NC_BYTE]));
  }
  int scalar;
  CHECK(ncmpi_def_var(ncid, "scalar", NC_DOUBLE, 0, NULL, &scalar));
  CHECK(ncmpi_enddef(ncid));
  const double pi = 3.25;
  CHECK(ncmpi_put_var_double_all(ncid, scalar, &pi));
  for (int i = 0; i < n; ++i) {
    MPI_Offset start[3] = {0, 0, 0}, count[3] = {1, 0, columns};
    share(rows, &start[1], &count[1]);
    int numbers[7 * 13];
    char letters[7 * 13];
    for (MPI_Offset t = -1; t < records; ++t) {
      for (MPI_Offset k = 0; k < count[1] * columns; ++k) {
        numbers[k] = (int)((start[1] * columns + k + 3 * i + 11 * (t + 1)) % 120);
        letters[k] = (char)(' ' + numbers[k] % 90);
      }
      start[0] = t;
      if (i + NC_BYTE == NC_CHAR && t < 0) {
        CHECK(ncmpi_put_vara_text_all(ncid, fixed[i], start + 1, count + 1, letters));
      } else if (i + NC_BYTE == NC_CHAR) {
        CHECK(ncmpi_put_vara_text_all(ncid, record[i], start, count, letters));
      } else if (t < 0) {
        CHECK(ncmpi_put_vara_int_all(ncid, fixed[i], start + 1, count + 1, numbers));
      } else {
        CHECK(ncmpi_put_vara_int_all(ncid, record[i], start, count, numbers));
      }
    }
  }
  CHECK(ncmpi_close(ncid));
}

static void overwrite(int format, const char* name) {
  enum { rows = 24, columns = 50 };
  int ncid, dimids[2], v, w;
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, mode_of(format), MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_def_dim(ncid, "y", rows, &dimids[0]));
  CHECK(ncmpi_def_dim(ncid, "x", columns, &dimids[1]));
  CHECK(ncmpi_def_var(ncid, "v", NC_FLOAT, 2, dimids, &v));
  CHECK(ncmpi_def_var(ncid, "w", NC_SHORT, 2, dimids, &w));
  CHECK(ncmpi_enddef(ncid));
  float values[rows * columns];
  /* each rank in turn, far from its earlier puts; sync and barrier decide which put is later */
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Offset start[2], count[2], stride[2] = {turn % 2 + 1, turn + 1};
    share(rows, &start[0], &count[0]);
    start[0] = (start[0] + turn * rows / 4) % rows, start[1] = turn;
    count[0] = (rows - start[0] < count[0] ? rows - start[0] : count[0]);
    count[0] = (count[0] + stride[0] - 1) / stride[0];
    count[1] = (columns - turn + stride[1] - 1) / stride[1];
    if (turn == 0) {
      start[1] = 0, count[1] = columns, stride[1] = 1;
    }
    for (int i = 0; i < rows * columns; ++i) values[i] = (float)(1000 * turn + 100 * rank + i % 97);
    CHECK(ncmpi_put_vars_float_all(ncid, v, start, count, stride, values));
    CHECK(ncmpi_put_vars_float_all(ncid, w, start, count, stride, values));
    CHECK(ncmpi_sync(ncid));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /* one rank puts many single elements twice, the second time in another order */
  CHECK(ncmpi_begin_indep_data(ncid));
  if (rank == ranks - 1) {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 200; ++i) {
        const MPI_Offset k = round ? 199 - i : i, index[2] = {k * 7 % rows, k * 11 % columns};
        const float value = (float)(5000 + 200 * round + k);
        CHECK(ncmpi_put_var1_float(ncid, v, index, &value));
      }
    }
  }
  CHECK(ncmpi_end_indep_data(ncid));
  CHECK(ncmpi_close(ncid));
}

static void fill(int format, const char* name) {
  int ncid, old, dimids[2], a, b, c;
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, mode_of(format), MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_set_fill(ncid, NC_FILL, &old));
  CHECK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]));
  CHECK(ncmpi_def_dim(ncid, "x", 1000, &dimids[1]));
  CHECK(ncmpi_def_var(ncid, "a", NC_INT, 1, dimids + 1, &a));
  CHECK(ncmpi_def_var(ncid, "b", NC_SHORT, 1, dimids + 1, &b));
  CHECK(ncmpi_def_var(ncid, "c", NC_DOUBLE, 2, dimids, &c));
  const short nothing = -99;
  CHECK(ncmpi_put_att_short(ncid, b, "_FillValue", NC_SHORT, 1, &nothing));
  CHECK(ncmpi_enddef(ncid));
  MPI_Offset start[2], count[2] = {1, 0};
  share(1000, &start[1], &count[1]);
  count[1] /= 2;
  int values[1000];
  for (int i = 0; i < 1000; ++i) values[i] = i + rank;
  CHECK(ncmpi_put_vara_int_all(ncid, a, start + 1, count + 1, values));
  for (start[0] = 0; start[0] < 3; ++start[0]) {
    CHECK(ncmpi_fill_var_rec(ncid, c, start[0]));
    CHECK(ncmpi_put_vara_int_all(ncid, c, start, count, values));
  }
  CHECK(ncmpi_fill_var_rec(ncid, c, 1));
  CHECK(ncmpi_close(ncid));
}

static void layout(const char* name) {
  int ncid, dimids[2], a, b, c;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "nc_var_align_size", "512");
  MPI_Info_set(info, "nc_header_align_size", "4096");
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, mode_of(2), info, &ncid));
  MPI_Info_free(&info);
  CHECK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]));
  CHECK(ncmpi_def_dim(ncid, "x", 100, &dimids[1]));
  CHECK(ncmpi_def_var(ncid, "a", NC_INT, 1, dimids + 1, &a));
  CHECK(ncmpi_def_var(ncid, "b", NC_BYTE, 2, dimids, &b));
  CHECK(ncmpi__enddef(ncid, 1000, 4, 2000, 1024));
  MPI_Offset start[2] = {0, 0}, count[2] = {1, 0};
  share(100, &start[1], &count[1]);
  int values[100];
  for (int i = 0; i < 100; ++i) values[i] = i + rank;
  CHECK(ncmpi_put_vara_int_all(ncid, a, start + 1, count + 1, values));
  CHECK(ncmpi_put_vara_int_all(ncid, b, start, count, values));
  CHECK(ncmpi_redef(ncid));
  CHECK(ncmpi_def_var(ncid, "c", NC_DOUBLE, 2, dimids, &c));
  CHECK(ncmpi_put_att_text(ncid, c, "units", 7, "furlong"));
  CHECK(ncmpi_enddef(ncid));
  for (start[0] = 0; start[0] < 2; ++start[0]) {
    CHECK(ncmpi_put_vara_int_all(ncid, b, start, count, values));
    CHECK(ncmpi_put_vara_int_all(ncid, c, start, count, values));
  }
  CHECK(ncmpi_close(ncid));
}

static void append(const char* name, int records) {
  for (int record = 0; record < records; ++record) {
    int ncid, dimids[2], v, w;
    if (record == 0) {
      CHECK(ncmpi_create(MPI_COMM_WORLD, name, mode_of(5), MPI_INFO_NULL, &ncid));
      CHECK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]));
      CHECK(ncmpi_def_dim(ncid, "x", 3001, &dimids[1]));
      CHECK(ncmpi_def_var(ncid, "v", NC_SHORT, 2, dimids, &v));
      CHECK(ncmpi_def_var(ncid, "w", NC_FLOAT, 2, dimids, &w));
      CHECK(ncmpi_enddef(ncid));
    } else {
      CHECK(ncmpi_open(MPI_COMM_WORLD, name, NC_WRITE, MPI_INFO_NULL, &ncid));
      CHECK(ncmpi_inq_varid(ncid, "v", &v));
      CHECK(ncmpi_inq_varid(ncid, "w", &w));
    }
    MPI_Offset start[2] = {record, 0}, count[2] = {1, 0};
    share(3001, &start[1], &count[1]);
    int values[3001];
    for (int i = 0; i < 3001; ++i) values[i] = (i + 7 * record) % 3000;
    CHECK(ncmpi_put_vara_int_all(ncid, v, start, count, values + start[1]));
    CHECK(ncmpi_put_vara_int_all(ncid, w, start, count, values + start[1]));
    CHECK(ncmpi_close(ncid));
    usleep(20000); /* so that some steps are drained before the next one comes */
  }
}

static void empty(const char* name) {
  int ncid, dimid, v;
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 7, "nothing"));
  CHECK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimid));
  CHECK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dimid, &v));
  CHECK(ncmpi_close(ncid));
}

/* Creates a file without data and leaves it open. */
static void create(const char* name) {
  int ncid, dimid, v;
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_def_dim(ncid, "x", 10, &dimid));
  CHECK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dimid, &v));
  CHECK(ncmpi_enddef(ncid));
}

static void large(const char* name, int mib) {
  enum { columns = 1 << 18 };
  int ncid, dimids[2], v;
  CHECK(ncmpi_create(MPI_COMM_WORLD, name, mode_of(2), MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_def_dim(ncid, "y", mib, &dimids[0]));
  CHECK(ncmpi_def_dim(ncid, "x", columns, &dimids[1]));
  CHECK(ncmpi_def_var(ncid, "v", NC_FLOAT, 2, dimids, &v));
  CHECK(ncmpi_enddef(ncid));
  float* row = malloc(sizeof *row * columns);
  for (MPI_Offset y = rank; y < (mib + ranks - 1) / ranks * ranks; y += ranks) {
    for (int x = 0; x < columns; ++x) row[x] = (float)(y * 1000 + x % 1000);
    const MPI_Offset start[2] = {y < mib ? y : 0, 0}, count[2] = {y < mib, columns};
    CHECK(ncmpi_put_vara_float_all(ncid, v, start, count, row));
  }
  free(row);
  CHECK(ncmpi_close(ncid));
}

/* Puts the first row once more. */
static void touch(const char* name) {
  enum { columns = 1 << 18 };
  int ncid, v;
  CHECK(ncmpi_open(MPI_COMM_WORLD, name, NC_WRITE, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_inq_varid(ncid, "v", &v));
  float* row = malloc(sizeof *row * columns);
  for (int x = 0; x < columns; ++x) row[x] = (float)(x % 1000);
  const MPI_Offset start[2] = {0, 0}, count[2] = {rank == 0, columns};
  CHECK(ncmpi_put_vara_float_all(ncid, v, start, count, row));
  free(row);
  CHECK(ncmpi_close(ncid));
}

static void check_large(const char* name, int mib) {
  enum { columns = 1 << 18 };
  int ncid, v, mistakes = 0;
  CHECK(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_inq_varid(ncid, "v", &v));
  float* row = malloc(sizeof *row * columns);
  for (MPI_Offset y = 0; y < mib; ++y) {
    const MPI_Offset start[2] = {y, 0}, count[2] = {1, columns};
    CHECK(ncmpi_get_vara_float_all(ncid, v, start, count, row));
    for (int x = 0; x < columns; ++x) mistakes += row[x] != (float)(y * 1000 + x % 1000);
  }
  free(row);
  CHECK(ncmpi_close(ncid));
  if (mistakes > 0) {
    printf("%s: %d values are wrong\n", name, mistakes);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
}

static void noclobber(const char* name) {
  int ncid;
  const int status = ncmpi_create(MPI_COMM_WORLD, name, NC_NOCLOBBER, MPI_INFO_NULL, &ncid);
  if (rank == 0) printf("noclobber: %s\n", ncmpi_strerrno(status));
  if (status == NC_NOERR) CHECK(ncmpi_close(ncid));
}

static void delete_file(const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("delete: %s\n", ncmpi_strerrno(ncmpi_delete(name, MPI_INFO_NULL)));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void read_file(const char* name) {
  int ncid;
  CHECK(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  CHECK(ncmpi_close(ncid));
}

/* Carries out one command. Returns the words after it. */
static char** run(char** words, int repetition) {
  char name[4096];
  const char* command = *words++;
  const int has_format =
      !strcmp(command, "types") || !strcmp(command, "overwrite") || !strcmp(command, "fill");
  const int format = has_format ? atoi(*words++) : 0;
  const char* argument = *words++;
  const char* mark = strstr(argument, "%d");
  snprintf(name, sizeof name, "%.*s%.*d%s", mark ? (int)(mark - argument) : 0, argument, mark ? 1 : 0,
           repetition, mark ? mark + 2 : argument);
  if (mark == NULL) snprintf(name, sizeof name, "%s", argument);
  if (!strcmp(command, "types")) types(format, name);
  if (!strcmp(command, "overwrite")) overwrite(format, name);
  if (!strcmp(command, "fill")) fill(format, name);
  if (!strcmp(command, "layout")) layout(name);
  if (!strcmp(command, "append")) append(name, atoi(*words++));
  if (!strcmp(command, "empty")) empty(name);
  if (!strcmp(command, "create")) create(name);
  if (!strcmp(command, "large")) large(name, atoi(*words++));
  if (!strcmp(command, "touch")) touch(name);
  if (!strcmp(command, "check")) check_large(name, atoi(*words++));
  if (!strcmp(command, "noclobber")) noclobber(name);
  if (!strcmp(command, "delete")) delete_file(name);
  if (!strcmp(command, "read")) read_file(name);
  if (!strcmp(command, "sleep")) usleep((useconds_t)atoi(argument) * 1000);
  if (!strcmp(command, "exit")) {
    MPI_Finalize();
    exit(atoi(argument));
  }
  if (!strcmp(command, "kill")) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) raise(atoi(argument));
    sleep(60); /* mpirun ends the others */
  }
  return words;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char** words = argv + 1;
  int repetitions = 1;
  if (argc > 2 && !strcmp(*words, "repeat")) {
    repetitions = atoi(words[1]);
    words += 2;
  }
  for (int i = 0; i < repetitions; ++i) {
    for (char** next = words; *next != NULL;) next = run(next, i);
  }
  MPI_Finalize();
  return 0;
}
