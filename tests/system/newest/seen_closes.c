/* seen_closes WRITER|READER TELL TIMES: a file is written again and again, and read as soon as its close has
 * been seen. It is written by the C library, by PnetCDF in the last rank alone, and by PnetCDF in all ranks.
 * It is read by both, by stat, and by a listing. TELL: barrier (rank 0 of the writer reads), pipe, signal
 * (another component). */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* const writers[] = {"c", "pnetcdf", "all"};
static const char* const readers[] = {"c", "pnetcdf", "stat", "list"};
enum { writer_kinds = 3, reader_kinds = 4, header_bytes = 80 };
static int rank, ranks;

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int length_of(int value) {
  return 4 + value % 60;
}

static void name_of(char* name, int writer, int reader, int value) {
  if (reader == 3) {
    sprintf(name, "many/%s_%d.nc", writers[writer], value);
  } else {
    sprintf(name, "%s_%s.nc", writers[writer], readers[reader]);
  }
}

static unsigned char* put_word(unsigned char* to, uint32_t word) {
  for (int i = 0; i < 4; ++i) *to++ = (unsigned char)(word >> (24 - 8 * i));
  return to;
}

/* A CDF-1 file with the variable v(x), all of whose values are `value`. */
static void write_by_c(const char* name, int value) {
  unsigned char bytes[header_bytes + 4 * 64];
  const uint32_t length = (uint32_t)length_of(value);
  const uint32_t words[] = {0x43444601, 0, 10,        1, 1, 'x' << 24, length, 0, 0,          11,
                            1,          1, 'v' << 24, 1, 0, 0,         0,      4, 4 * length, header_bytes};
  unsigned char* to = bytes;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) to = put_word(to, words[i]);
  for (uint32_t i = 0; i < length; ++i) to = put_word(to, (uint32_t)value);
  FILE* const file = fopen(name, "w");
  must(file != NULL, name);
  must(fwrite(bytes, 1, (size_t)(to - bytes), file) == (size_t)(to - bytes), "fwrite");
  must(fclose(file) == 0, "fclose");
}

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_by_pnetcdf(MPI_Comm comm, const char* name, int value) {
  int file, dimension, variable, values[64], self, size;
  MPI_Comm_rank(comm, &self);
  MPI_Comm_size(comm, &size);
  const MPI_Offset length = length_of(value);
  for (int i = 0; i < length; ++i) values[i] = value;
  check(ncmpi_create(comm, name, NC_CLOBBER, MPI_INFO_NULL, &file), "ncmpi_create");
  check(ncmpi_def_dim(file, "x", length, &dimension), "ncmpi_def_dim");
  check(ncmpi_def_var(file, "v", NC_INT, 1, &dimension, &variable), "ncmpi_def_var");
  check(ncmpi_enddef(file), "ncmpi_enddef");
  const MPI_Offset start = length * self / size, count = length * (self + 1) / size - start;
  check(ncmpi_put_vara_int_all(file, variable, &start, &count, values), "ncmpi_put_vara_int_all");
  check(ncmpi_close(file), "ncmpi_close");
}

static void write_file(int writer, const char* name, int value) {
  if (writer == 2) return write_by_pnetcdf(MPI_COMM_WORLD, name, value);
  if (rank != ranks - 1) return;
  writer == 0 ? write_by_c(name, value) : write_by_pnetcdf(MPI_COMM_SELF, name, value);
}

static int has_value(const unsigned char* bytes, long size, int value) {
  unsigned char wanted[4];
  put_word(wanted, (uint32_t)value);
  return size >= header_bytes && memcmp(bytes + size - 4, wanted, 4) == 0;
}

static int read_by_c(const char* name, int value) {
  unsigned char bytes[4096];
  FILE* const file = fopen(name, "r");
  if (file == NULL) return 0;
  const long size = (long)fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  return has_value(bytes, size, value);
}

static int read_by_pnetcdf(const char* name, int value) {
  int file, values[64] = {0};
  MPI_Offset length = 0;
  if (ncmpi_open(MPI_COMM_SELF, name, NC_NOWRITE, MPI_INFO_NULL, &file) != NC_NOERR) return 0;
  check(ncmpi_inq_dimlen(file, 0, &length), "ncmpi_inq_dimlen");
  check(ncmpi_get_var_int_all(file, 0, values), "ncmpi_get_var_int_all");
  check(ncmpi_close(file), "ncmpi_close");
  return length == length_of(value) && values[length - 1] == value;
}

/* The header of a file may be of any size: only the difference to the first one counts. */
static int see_by_stat(const char* name, int value, long* first_size) {
  struct stat facts;
  if (stat(name, &facts) != 0) return 0;
  if (value == 0) *first_size = (long)facts.st_size;
  return facts.st_size == *first_size + 4 * (length_of(value) - length_of(0));
}

static int see_in_list(const char* name) {
  DIR* const directory = opendir("many");
  int is_there = 0;
  for (const struct dirent* entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    is_there = is_there || strcmp(entry->d_name, strrchr(name, '/') + 1) == 0;
  if (directory != NULL) closedir(directory);
  return is_there;
}

static int is_seen(int reader, const char* name, int value, long* first_size) {
  if (reader == 0) return read_by_c(name, value);
  if (reader == 1) return read_by_pnetcdf(name, value);
  return reader == 2 ? see_by_stat(name, value, first_size) : see_in_list(name);
}

/* To another component and back: bytes through pipes, or signals. */
static int from_other, to_other, uses_signals;
static pid_t other;
static sigset_t told;

static void open_line(int is_writer, const char* tell) {
  uses_signals = strcmp(tell, "signal") == 0;
  to_other = open(is_writer ? "there" : "back", O_RDWR);
  from_other = open(is_writer ? "back" : "there", O_RDWR);
  const pid_t self = getpid();
  must(to_other >= 0 && from_other >= 0, "open a pipe");
  must(write(to_other, &self, sizeof self) == sizeof self, "write");
  must(read(from_other, &other, sizeof other) == sizeof other, "read");
}

static void tell_other(void) {
  if (uses_signals) return must(kill(other, SIGUSR1) == 0, "kill");
  must(write(to_other, "x", 1) == 1, "write");
}

static void await_other(void) {
  char letter;
  int number;
  if (uses_signals) return must(sigwait(&told, &number) == 0, "sigwait");
  must(read(from_other, &letter, 1) == 1, "read");
}

int main(int argc, char** argv) {
  sigemptyset(&told);
  sigaddset(&told, SIGUSR1);
  sigprocmask(SIG_BLOCK, &told, NULL);  // in all threads
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int is_writer = strcmp(argv[1], "writer") == 0, is_alone = strcmp(argv[2], "barrier") == 0;
  const int times = atoi(argv[3]), is_teller = rank == ranks - 1;
  if (!is_alone && is_teller) open_line(is_writer, argv[2]);
  for (int writer = 0; writer < writer_kinds; ++writer) {
    for (int reader = 0; reader < reader_kinds; ++reader) {
      long first_size = 0;
      int old = 0;
      for (int value = 0; value < times; ++value) {
        char name[64];
        name_of(name, writer, reader, value);
        if (is_writer) write_file(writer, name, value);
        if (is_alone) MPI_Barrier(MPI_COMM_WORLD);
        if (!is_alone && is_teller) is_writer ? tell_other() : await_other();
        if (is_alone ? rank == 0 : !is_writer) old += !is_seen(reader, name, value, &first_size);
        if (!is_alone && is_teller) is_writer ? await_other() : tell_other();
        if (is_writer) MPI_Barrier(MPI_COMM_WORLD);
      }
      const int counts = is_alone ? rank == 0 : !is_writer;
      if (counts) printf("%s %s %s old %d of %d\n", argv[2], writers[writer], readers[reader], old, times);
    }
  }
  MPI_Finalize();
  return 0;
}
