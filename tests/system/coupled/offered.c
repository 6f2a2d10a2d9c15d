// offered write COUNT [WHAT] | offered read COUNT [WHAT]: writes or reads COUNT files s_0000.nc … that are
// alike, all ranks together. So Sluice offers the writer its next steps ahead. In the middle (files COUNT/2
// and COUNT/2 + 1) the writer does WHAT:
//   header      puts another variable, too           more      has ten times as much data
//   less        rank 0 puts nothing                  redefine  defines another variable after the put
//   longer      defines a long attribute after the put
//   noclobber   creates with NC_NOCLOBBER            abort     aborts the file first
//   two         writes both files at the same time   again     has written the same name before
//   alone       rank 0 writes the file alone         reverse   the ranks are in reverse order
//   reopen      opens the file again and puts anew   get       gets what it has put before the close
//   records     has records                          end:RANK:POINT   the rank ends there, see `point`
//   other       writes a file of another rule first  asks      waits for a file that the reader never writes
//   slow        takes some milliseconds for each file
// or the reader does WHAT:
//   twice       opens each file twice                end       ends while it has the file open
//   stop        reads no further                     late      comes when the writer has written all
//   gone        from there on, the file need not come
//   ended       no file need come
//   still       stands still with an open file until the writer has written all
//   asked       opens a file again when the wait for it was in vain
//   less, again, other, longer    knows what the writer does
//   end:RANK:POINT        the rank ends there
//   pause:POINT           all ranks are stopped there for a while
//   each                  each rank opens each file alone, too, at the same time
//   pairs                 ranks 0 and 1 open each file, then 0 and 2 do, all at the same time
//   wait                  opens a file when the writer has told it so
// wait, each, pairs tell the writer when they have read a file. A writer that does `paced` tells them when it
// has written one, and writes the next one when they have read it.
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { usual = 4096, long_text = 20000 };

static int rank, ranks, count;
static const char *what = "", *prefix = "s";

static void fail(const char* call, const char* name, const char* why) {
  fprintf(stderr, "rank %d: %s %s: %s\n", rank, call, name, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

__attribute__((weak)) const char* sluice_last_error(void);

static void check(int status, const char* call, const char* name) {
  if (status == NC_NOERR) return;
  if (sluice_last_error != NULL) fprintf(stderr, "rank %d: %s\n", rank, sluice_last_error());
  fail(call, name, ncmpi_strerrno(status));
}

static int is(const char* word) {
  return strcmp(what, word) == 0;
}
static int is_middle(int step) {
  return step == count / 2 || step == count / 2 + 1;
}

/// The process may end here: "end:RANK:POINT". Or it is stopped for a while: "pause:POINT".
static void point(const char* here, int step) {
  char words[64];
  if (step != count / 2) return;
  snprintf(words, sizeof words, "end:%d:%s", rank, here);
  if (is(words)) kill(getpid(), SIGKILL);
  snprintf(words, sizeof words, "pause:%s", here);
  if (!is(words)) return;
  snprintf(words, sizeof words, "(sleep 0.4; kill -CONT %d) &", (int)getpid());
  if (system(words) != 0) fail("pause", here, "cannot be continued");
  kill(getpid(), SIGSTOP);
}

static int value(int step, int version, MPI_Offset i) {
  return step * 1000000 + version * 100000 + (int)(i % 99991);
}

struct file {
  int ncid, field, other;
  MPI_Offset length, start, own;
  char name[32];
};

static void name_of(int step, char* name) {
  sprintf(name, "%s_%04d.nc", prefix, step);
}

static void create(MPI_Comm comm, int step, struct file* file) {
  int dims[2], me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  name_of(step, file->name);
  const int special = is_middle(step);
  file->length = usual * (special && is("more") ? 10 : 1);
  file->own = file->length / size;
  file->start = file->own * me;
  if (me == size - 1) file->own = file->length - file->start;
  point("create", step);
  const int mode = special && is("noclobber") ? NC_NOCLOBBER : NC_CLOBBER;
  check(ncmpi_create(comm, file->name, mode | NC_64BIT_DATA, MPI_INFO_NULL, &file->ncid), "create",
        file->name);
  point("created", step);
  check(ncmpi_def_dim(file->ncid, "t", special && is("records") ? NC_UNLIMITED : 1, &dims[0]), "def_dim",
        file->name);
  check(ncmpi_def_dim(file->ncid, "x", file->length, &dims[1]), "def_dim", file->name);
  check(ncmpi_def_var(file->ncid, "field", NC_INT, 2, dims, &file->field), "def_var", file->name);
  file->other = -1;
  if (special && is("header"))
    check(ncmpi_def_var(file->ncid, "other", NC_INT, 2, dims, &file->other), "def_var", file->name);
  check(ncmpi_put_att_int(file->ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att", file->name);
  check(ncmpi_enddef(file->ncid), "enddef", file->name);
  point("defined", step);
}

static void put(struct file* file, int step, int version, int varid) {
  int* data = malloc((size_t)file->own * sizeof *data + 1);
  for (MPI_Offset i = 0; i < file->own; ++i) data[i] = value(step, version, file->start + i);
  const MPI_Offset start[2] = {0, file->start},
                   size[2] = {1, is_middle(step) && is("less") && rank == 0 ? 0 : file->own};
  check(ncmpi_put_vara_int_all(file->ncid, varid, start, size, data), "put", file->name);
  free(data);
  point("put", step);
}

static void get(struct file* file, int step, int version, int varid) {
  int* data = malloc((size_t)file->length * sizeof *data);
  const MPI_Offset start[2] = {0, 0}, size[2] = {1, file->length};
  check(ncmpi_get_vara_int_all(file->ncid, varid, start, size, data), "get", file->name);
  MPI_Offset first = 0;
  if (is_middle(step) && is("again") && data[0] == value(step, 7, 0)) version = 7;  // as a whole
  if (is_middle(step) && is("less")) {  // one of the writers: these elements are fill values
    while (first < file->length && data[first] == NC_FILL_INT) ++first;
    if (first == 0) fail("get", file->name, "no fill values");
  }
  for (MPI_Offset i = first; i < file->length; ++i)
    if (data[i] != value(step, version, i)) fail("get", file->name, "wrong data");
  free(data);
}

static const char* text(void) {
  static char letters[long_text];
  return memset(letters, 'x', sizeof letters);
}

static void finish(struct file* file, int step, int version) {
  put(file, step, version, file->field);
  if (file->other >= 0) put(file, step, version + 1, file->other);
  if (is_middle(step) && is("redefine")) {
    int dim;
    check(ncmpi_redef(file->ncid), "redef", file->name);
    check(ncmpi_inq_dimid(file->ncid, "x", &dim), "inq_dimid", file->name);
    check(ncmpi_def_var(file->ncid, "late", NC_INT, 1, &dim, &file->other), "def_var", file->name);
    check(ncmpi_enddef(file->ncid), "enddef", file->name);
  }
  if (is_middle(step) && is("longer")) {
    check(ncmpi_redef(file->ncid), "redef", file->name);
    check(ncmpi_put_att_text(file->ncid, NC_GLOBAL, "long", long_text, text()), "put_att", file->name);
    check(ncmpi_enddef(file->ncid), "enddef", file->name);
  }
  if (is_middle(step) && is("get")) get(file, step, version, file->field);
  check(ncmpi_close(file->ncid), "close", file->name);
  point("closed", step);
}

static void write_step(int step) {
  struct file file;
  MPI_Comm comm = MPI_COMM_WORLD;
  const int special = is_middle(step);
  if (special && is("two")) {
    struct file second;
    if (step == count / 2) {
      create(comm, step, &file);
      create(comm, step + 1, &second);
      finish(&second, step + 1, 0);
      finish(&file, step, 0);
    }
    return;
  }
  if (special && is("abort")) {  // in define mode: after that, it would be a close
    int ncid, dim;
    name_of(step, file.name);
    check(ncmpi_create(comm, file.name, NC_CLOBBER, MPI_INFO_NULL, &ncid), "create", file.name);
    check(ncmpi_def_dim(ncid, "x", usual, &dim), "def_dim", file.name);
    check(ncmpi_abort(ncid), "abort", file.name);
  }
  if (special && is("noclobber")) {
    char name[32];
    int ncid;
    name_of(step - 1, name);
    if (ncmpi_create(comm, name, NC_NOCLOBBER, MPI_INFO_NULL, &ncid) != NC_EEXIST)
      fail("create", name, "is no error");
  }
  if (special && is("reverse")) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  if (special && is("alone")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &comm);
    if (rank != 0) return;
  }
  if (special && is("again")) {
    create(comm, step, &file);
    finish(&file, step, 7);
  }
  if (special && is("other")) {
    prefix = "t";
    create(comm, step, &file);
    finish(&file, step, 5);
    prefix = "s";
  }
  create(comm, step, &file);
  if (is("slow")) usleep(4000);
  if (special && is("asks")) {
    int ncid;
    const int status = ncmpi_open(comm, "answer.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid);
    if (status != NC_ENOENT) fail("open", "answer.nc", "is there");
  }
  finish(&file, step, 0);
  if (special && is("reopen")) {
    check(ncmpi_open(comm, file.name, NC_WRITE, MPI_INFO_NULL, &file.ncid), "open", file.name);
    put(&file, step, 0, file.field);
    check(ncmpi_close(file.ncid), "close", file.name);
  }
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
}

static void stand_still(void) {
  while (access("all_written", F_OK) != 0) usleep(1000);
}

/// Returns 0 when there are no further files.
static int open_step(MPI_Comm comm, int step, struct file* opened) {
  struct file file;
  name_of(step, file.name);
  int status = ncmpi_open(comm, file.name, NC_NOWRITE, MPI_INFO_NULL, &file.ncid);
  if (is_middle(step) && is("asked") && status == NC_ENOENT)
    status = ncmpi_open(comm, file.name, NC_NOWRITE, MPI_INFO_NULL, &file.ncid);
  const int may_be_missing = is("ended") || (is("gone") && step >= count / 2);
  if (may_be_missing && status == NC_ENOENT) return 0;
  check(status, "open", file.name);
  *opened = file;
  return 1;
}

static void get_and_close(struct file* opened, int step, int version) {
  struct file file = *opened;
  int number, dim;
  point("opened", step);
  if (step == count / 2 && is("end") && rank == ranks - 1) kill(getpid(), SIGKILL);
  if (step == count / 2 && is("still")) stand_still();
  check(ncmpi_get_att_int(file.ncid, NC_GLOBAL, "step", &number), "get_att", file.name);
  if (number != step) fail("get_att", file.name, "another step");
  check(ncmpi_inq_dimid(file.ncid, "x", &dim), "inq_dimid", file.name);
  check(ncmpi_inq_dimlen(file.ncid, dim, &file.length), "inq_dimlen", file.name);
  check(ncmpi_inq_varid(file.ncid, "field", &file.field), "inq_varid", file.name);
  get(&file, step, version, file.field);
  if (ncmpi_inq_varid(file.ncid, "other", &file.other) == NC_NOERR) get(&file, step, 1, file.other);
  MPI_Offset length = 0;
  if (is_middle(step) && is("longer") &&
      (ncmpi_inq_attlen(file.ncid, NC_GLOBAL, "long", &length) != NC_NOERR || length != long_text))
    fail("inq_attlen", file.name, "an earlier header");
  point("got", step);
  check(ncmpi_close(file.ncid), "close", file.name);
  point("closed", step);
}

/// All ranks have written or read the file.
static void tell(int step, const char* what_is_done) {
  char name[40];
  name_of(step, name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fclose(fopen(strcat(name, what_is_done), "w"));
}

static void await(int step, const char* what_is_done) {
  char name[40];
  name_of(step, name);
  strcat(name, what_is_done);
  while (access(name, F_OK) != 0) usleep(100);
}

static MPI_Comm pair_with_0(int other) {
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == other ? 0 : MPI_UNDEFINED, rank, &pair);
  return pair;
}

/// Returns 0 when there are no further files.
static int read_step(int step, int version) {
  static MPI_Comm pairs[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  struct file file, others[2];
  if (is("wait")) await(step, ".written");
  point("open", step);
  if (is("pairs")) {
    for (int i = 0; i < 2 && step == 0; ++i) pairs[i] = pair_with_0(i + 1);
    for (int i = 0; i < 2; ++i)
      if (pairs[i] != MPI_COMM_NULL) open_step(pairs[i], step, &others[i]);
    for (int i = 0; i < 2; ++i)
      if (pairs[i] != MPI_COMM_NULL) get_and_close(&others[i], step, version);
    tell(step, ".read");
    return 1;
  }
  if (!open_step(MPI_COMM_WORLD, step, &file)) return 0;
  if (is("each")) open_step(MPI_COMM_SELF, step, &others[0]);
  if (is("each") && step % 2 == 0) get_and_close(&others[0], step, version);
  get_and_close(&file, step, version);
  if (is("each") && step % 2 == 1) get_and_close(&others[0], step, version);
  if (is("wait") || is("each")) tell(step, ".read");
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) fail("usage", argv[0], "write|read COUNT [WHAT]");
  const int writes = strcmp(argv[1], "write") == 0;
  count = atoi(argv[2]);
  if (argc > 3) what = argv[3];
  if (!writes && is("late")) {  // the last file: the writer has written all
    char name[32];
    int ncid;
    name_of(count - 1, name);
    check(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid), "open", name);
    check(ncmpi_close(ncid), "close", name);
  }
  for (int step = 0; step < count; ++step) {
    if (writes) {
      write_step(step);
      if (is("paced")) tell(step, ".written");
      if (is("paced")) await(step, ".read");
    } else {
      if (is("stop") && step > count / 2) break;
      if (is_middle(step) && is("other")) {
        prefix = "t";
        read_step(step, 5);
        prefix = "s";
      }
      if (!read_step(step, 0)) break;
      if (is("twice")) read_step(step, 0);
    }
  }
  if (writes && rank == 0) fclose(fopen("all_written", "w"));
  MPI_Finalize();
  return 0;
}
