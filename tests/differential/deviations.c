/* The deviations in docs/pnetcdf-interface.md, between 1.12.3 and this library: deviations CASE. Each case
 * prints its results. deviations.txt has the expected results of both libraries; deviations.py compares. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_bytes.h"
#include "report.h"

/* Prints only the status. */
#define STATUS(call) show("%s", ncmpi_strerrno(call))

static int ncid, fixed, record, reals, text;
static int values[4096];
static const MPI_Offset origin[] = {0, 0}, one[] = {1, 1}, four[] = {4, 4};

/* fixed(x) and reals(x) and text(x), record(t, x) with x = 4; record variables last. */
static void define(const char* path, int mode) {
  int t, x;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  const int dimids[] = {t, x};
  MUST(ncmpi_def_var(ncid, "fixed", NC_INT, 1, &x, &fixed));
  MUST(ncmpi_def_var(ncid, "reals", NC_FLOAT, 1, &x, &reals));
  MUST(ncmpi_def_var(ncid, "text", NC_CHAR, 1, &x, &text));
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 2, dimids, &record));
  for (int i = 0; i < 4096; ++i) values[i] = i;
}

static void define_and_end(const char* path, int mode) {
  define(path, mode);
  MUST(ncmpi_enddef(ncid));
}

static void show_values(const int* seen, int n) {
  char line[200];
  int used = 0;
  for (int i = 0; i < n; ++i) used += snprintf(line + used, sizeof line - (size_t)used, " %d", seen[i]);
  show("values%s", line);
}

static void copy_att_fill_value(void) {
  const double fill = 7;
  int no_fill = -1, got = -1, other;
  define("deviations.nc", 0);
  MUST(ncmpi_def_var(ncid, "from", NC_DOUBLE, 0, NULL, &other));
  MUST(ncmpi_put_att_double(ncid, other, "_FillValue", NC_DOUBLE, 1, &fill));
  STATUS(ncmpi_copy_att(ncid, other, "_FillValue", ncid, fixed));
  MUST(ncmpi_inq_var_fill(ncid, fixed, &no_fill, &got));
  show("fill value %d", got);
}

static void default_format(int wanted) {
  int format = -1, version = -1;
  STATUS(ncmpi_set_default_format(wanted, NULL));
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_format(ncid, &format));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_inq_file_format("deviations.nc", &version));
  show("format %d, on the disk %d", format, version);
}

static void default_format_netcdf4(void) {
  default_format(NC_FORMAT_NETCDF4);
  default_format(NC_FORMAT_NETCDF4_CLASSIC);
}

static void numbers_of_variables(void) {
  int records = -1, others = -1;
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_num_rec_vars(ncid, &records));
  MUST(ncmpi_inq_num_fix_vars(ncid, &others));
  show("%d with records, %d without", records, others);
}

static void copy_att_of_cdf5_type(void) {
  const long long large = 1;
  int from;
  MUST(ncmpi_create(MPI_COMM_WORLD, "from.nc", NC_64BIT_DATA, MPI_INFO_NULL, &from));
  MUST(ncmpi_put_att_longlong(from, NC_GLOBAL, "a", NC_INT64, 1, &large));
  MUST(ncmpi_enddef(from));
  define("deviations.nc", 0);
  STATUS(ncmpi_copy_att(from, NC_GLOBAL, "a", ncid, NC_GLOBAL));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_close(ncid));
  STATUS(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
}

static void copy_att_from_no_file(void) {
  define("deviations.nc", 0);
  STATUS(ncmpi_copy_att(ncid + 50, NC_GLOBAL, "a", ncid, fixed));
}
static void def_var_without_place(void) {
  define("deviations.nc", 0);
  STATUS(ncmpi_def_var(ncid, "more", NC_INT, 0, NULL, NULL));
}
static void fill_var_rec_of_no_variable(void) {
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_fill_var_rec(ncid, 99, 0));
}

static void fill_var_rec_before_first(void) {
  define("deviations.nc", 0);
  MUST(ncmpi_def_var_fill(ncid, record, 0, NULL));
  MUST(ncmpi_enddef(ncid));
  STATUS(ncmpi_fill_var_rec(ncid, record, -1));
}
static void fill_var_rec_too_far(void) {
  define("deviations.nc", NC_64BIT_DATA);
  MUST(ncmpi_def_var_fill(ncid, record, 0, NULL));
  MUST(ncmpi_enddef(ncid));
  STATUS(ncmpi_fill_var_rec(ncid, record, (MPI_Offset)1 << 60));
}

/* Rank 0 selects what is filled; the others take part. */
static void fill_modes_differ(void) {
  int seen[4] = {0};
  define("deviations.nc", 0);
  MUST(ncmpi_set_fill(ncid, report_rank ? NC_NOFILL : NC_FILL, NULL));
  STATUS(ncmpi_enddef(ncid));
  MUST(ncmpi_get_var_int_all(ncid, fixed, seen));
  show("%s", seen[0] == NC_FILL_INT && seen[3] == NC_FILL_INT ? "filled" : "not filled");
}

static void open_shared_for_reading(void) {
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_close(ncid));
  STATUS(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", NC_SHARE, MPI_INFO_NULL, &ncid));
  STATUS(ncmpi_close(ncid));
}

static void open_written(struct file_bytes* f) {
  int dimensions = -1, attributes = -1;
  file_write(f, "deviations.nc");
  const int status = ncmpi_open(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid);
  show("%s", ncmpi_strerrno(status));
  if (status != NC_NOERR) return;
  MUST(ncmpi_inq_ndims(ncid, &dimensions));
  MUST(ncmpi_inq_natts(ncid, &attributes));
  show("%d dimensions, %d attributes", dimensions, attributes);
}

static void header_ends_early(void) {
  static struct file_bytes f;
  file_start(&f, 1, 0);
  file_number(&f, 10), file_number(&f, 1);
  file_text(&f, "x", 1), file_number(&f, 3);
  open_written(&f);
}

static void mistake_of_one_rank(void) {
  const MPI_Offset start[] = {report_rank, 0}, count[] = {1, report_rank ? 9 : 4};
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_put_vara_int_all(ncid, record, start, count, values));
}

static void varn_out_of_range(void) {
  MPI_Offset first[] = {0}, second[] = {2}, *starts[] = {first, second}, two[] = {2}, *counts[] = {two, two};
  const double numbers[] = {1, 1e30, 3, 4};
  int seen[4] = {0}, pending = -1;
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_begin_indep_data(ncid));
  for (int i = 0; i < 4; ++i) values[i] = -5;
  MUST(ncmpi_put_var_int(ncid, fixed, values));
  STATUS(ncmpi_put_varn_double(ncid, fixed, 2, starts, counts, numbers));
  MUST(ncmpi_get_var_int(ncid, fixed, seen));
  MUST(ncmpi_inq_nreqs(ncid, &pending));
  show("first %d, third %d, last %d, %d pending", seen[0], seen[2], seen[3], pending);
}

static void overlapping_varn(void) {
  MPI_Offset start[] = {0}, again[] = {1}, *starts[] = {start, again}, three[] = {3},
             *counts[] = {three, three};
  int seen[4] = {0};
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_put_varn_int_all(ncid, fixed, 2, starts, counts, values));
  MUST(ncmpi_get_var_int_all(ncid, fixed, seen));
  show_values(seen, 4);
}
static void overlapping_puts(void) {
  const MPI_Offset start[] = {0}, again[] = {1}, three[] = {3};
  int seen[4] = {0}, requests[2], statuses[2];
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_iput_vara_int(ncid, fixed, start, three, values, &requests[0]));
  MUST(ncmpi_iput_vara_int(ncid, fixed, again, three, values + 10, &requests[1]));
  STATUS(ncmpi_wait_all(ncid, 2, requests, statuses));
  MUST(ncmpi_get_var_int_all(ncid, fixed, seen));
  show_values(seen, 4);
}

/* The element of the first request is out of range. */
static void wait_in_another_order(void) {
  const MPI_Offset first[] = {0}, second[] = {1};
  int requests[2], statuses[2] = {-77, -77};
  short seen[2];
  define_and_end("deviations.nc", 0);
  values[0] = 70000;
  MUST(ncmpi_put_var_int_all(ncid, fixed, values));
  MUST(ncmpi_iget_var1_short(ncid, fixed, first, &seen[0], &requests[0]));
  MUST(ncmpi_iget_var1_short(ncid, fixed, second, &seen[1], &requests[1]));
  int turned[] = {requests[1], requests[0]};
  STATUS(ncmpi_wait_all(ncid, 2, turned, statuses));
  show("second %s, first %s", ncmpi_strerrno(statuses[0]), ncmpi_strerrno(statuses[1]));
}

static void wait_with_invalid_id(void) {
  const MPI_Offset second[] = {1};
  int requests[2], statuses[3] = {-77, -77, -77}, seen[4] = {0};
  define_and_end("deviations.nc", 0);
  values[0] = 11, values[1] = 12;
  MUST(ncmpi_iput_var1_int(ncid, fixed, origin, &values[0], &requests[0]));
  MUST(ncmpi_iput_var1_int(ncid, fixed, second, &values[1], &requests[1]));
  int wrong[] = {requests[0], 78, 80};
  STATUS(ncmpi_wait_all(ncid, 3, wrong, statuses));
  STATUS(ncmpi_wait_all(ncid, 1, &requests[0], statuses));
  show("%s", ncmpi_strerrno(statuses[0]));
  MUST(ncmpi_cancel(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_get_var_int_all(ncid, fixed, seen));
  show("first %s", seen[0] == 11 ? "written" : "not written");
}

static void text_into_numbers(void) {
  char letters[] = "abcd";
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_put_vara_all(ncid, fixed, origin, four, letters, 4, MPI_CHAR));
}

static void null_buffer(void) {
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_put_vara_int_all(ncid, fixed, origin, four, NULL));
}
static void null_ids(void) {
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_iput_vara_int(ncid, fixed, origin, four, values, NULL));
  MUST(ncmpi_iget_vara_int(ncid, fixed, origin, four, values, NULL));
  STATUS(ncmpi_wait_all(ncid, 1, NULL, NULL));
}

/* One element of the type, that many bytes behind the begin of the variable. */
static MPI_Datatype displaced(MPI_Datatype of, MPI_Aint bytes) {
  MPI_Datatype type;
  const int length = 1;
  MPI_Type_create_hindexed(1, &length, &bytes, of, &type);
  MPI_Type_commit(&type);
  return type;
}
static MPI_Aint from_fixed_to(int varid) {
  MPI_Offset begin, end;
  MUST(ncmpi_inq_varoffset(ncid, fixed, &begin));
  MUST(ncmpi_inq_varoffset(ncid, varid, &end));
  return (MPI_Aint)(end - begin);
}
static void vard_outside(void) {
  int seen = -1, x, varid;
  MUST(ncmpi_create(MPI_COMM_WORLD, "one.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &varid));
  MUST(ncmpi_enddef(ncid));
  STATUS(ncmpi_put_vard_all(ncid, varid, displaced(MPI_INT, 1000), values, 1, MPI_INT));
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_get_vard_all(ncid, record, displaced(MPI_INT, 0), &seen, 1, MPI_INT));
}
static void vard_of_another_type(void) {
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_put_vard_all(ncid, fixed, displaced(MPI_INT, from_fixed_to(reals)), values, 1, MPI_INT));
}
static void vard_into_new_records(void) {
  MPI_Offset records = -1;
  define_and_end("deviations.nc", 0);
  STATUS(ncmpi_put_vard_all(ncid, fixed, displaced(MPI_INT, from_fixed_to(record)), values, 1, MPI_INT));
  MUST(ncmpi_inq_dimlen(ncid, 0, &records));
  show("%d records", (int)records);
}

/* Whether a pending put of that many elements leaves the program's buffer unchanged. Also what the file
 * has when the buffer changes before the wait. */
static void put_and_change(int n, const char* hint) {
  int x, varid, seen = -1;
  MPI_Info info;
  MPI_Info_create(&info);
  if (hint) MPI_Info_set(info, "nc_in_place_swap", hint);
  for (int i = 0; i < n; ++i) values[i] = 1 + i;
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, info, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", n, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &varid));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_iput_var_int(ncid, varid, values, NULL));
  const char* state = values[0] == 1 ? "untouched" : "swapped";
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  const char* after = values[0] == 1 ? "untouched" : "swapped";
  MUST(ncmpi_iput_var_int(ncid, varid, values, NULL));
  values[0] = 1 << 24 | 1; /* unchanged by swapping */
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_get_var_int_all(ncid, varid, values));
  seen = values[0];
  show("%d %s: %s, then %s, %s", n, hint ? hint : "auto", state, after,
       seen == 1 ? "copied" : "read at the wait");
  MUST(ncmpi_close(ncid));
}
static void buffer_of_iput(void) {
  put_and_change(1024, NULL);
  put_and_change(1025, NULL);
  put_and_change(1025, "disable");
}
static void in_place_swap_of_small_puts(void) {
  put_and_change(16, "enable");
}

static void blank_in_hints(void) {
  MPI_Offset extent = -1;
  setenv("PNETCDF_HINTS", "nc_header_align_size = 1024", 1);
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_inq_header_extent(ncid, &extent));
  show("extent %d", (int)extent);
}

/* The begins of two fixed-size variables and of the records. */
static void show_begins(void) {
  MPI_Offset at[3];
  MUST(ncmpi_inq_varoffset(ncid, fixed, &at[0]));
  MUST(ncmpi_inq_varoffset(ncid, reals, &at[1]));
  MUST(ncmpi_inq_varoffset(ncid, record, &at[2]));
  show("%d %d %d", (int)at[0], (int)at[1], (int)at[2]);
}

static void alignment_of_variables(void) {
  setenv("PNETCDF_HINTS", "nc_var_align_size=1024", 1);
  define_and_end("deviations.nc", 0);
  show_begins();
}
static void alignment_in_redefinitions(void) {
  define("deviations.nc", 0);
  MUST(ncmpi__enddef(ncid, 0, 1024, 0, 4));
  show_begins();
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi__enddef(ncid, 0, 1028, 0, 16));
  show_begins();
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_enddef(ncid));
  show_begins();
}
/* One key of ncmpi_inq_file_info. */
static void show_hint(const char* key) {
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MUST(ncmpi_inq_file_info(ncid, &info));
  MPI_Info_get(info, (char*)key, MPI_MAX_INFO_VAL, value, &found);
  show("%s", found ? value : "none");
  MPI_Info_free(&info);
}
static void alignment_without_fixed(void) {
  int t, id;
  MPI_Offset begin;
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_var(ncid, "r", NC_INT, 1, &t, &id));
  MUST(ncmpi__enddef(ncid, 0, 1024, 100, 64));
  MUST(ncmpi_inq_varoffset(ncid, id, &begin));
  show("%d", (int)begin);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_inq_varoffset(ncid, id, &begin));
  show("%d", (int)begin);
  show_hint("nc_record_align_size");
}
static void alignment_without_variables(void) {
  MPI_Offset extent;
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi__enddef(ncid, 100, 512, 0, 512));
  MUST(ncmpi_inq_header_extent(ncid, &extent));
  show("%d", (int)extent);
}
static void hint_of_header_alignment(void) {
  define_and_end("deviations.nc", 0);
  show_hint("nc_header_align_size");
  show_hint("nc_var_align_size");
}
static void hint_of_subfiling(void) {
  setenv("PNETCDF_HINTS", "pnetcdf_subfiling=enable", 1);
  define_and_end("deviations.nc", 0);
  show_hint("pnetcdf_subfiling");
}
static void long_dimensions(void) {
  const int modes[] = {0, NC_64BIT_OFFSET};
  const MPI_Offset lengths[] = {2147483647LL, 2147483648LL};
  for (int i = 0; i < 4; ++i) {
    int id;
    MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", modes[i / 2], MPI_INFO_NULL, &ncid));
    STATUS(ncmpi_def_dim(ncid, "x", lengths[i % 2], &id));
    MUST(ncmpi_close(ncid));
  }
}

enum { GAP_BEGIN = 1024 };
/* Two record variables a and b of three integers, with 12 bytes between them and two records. */
static void write_gap(unsigned records, size_t size) {
  static struct file_bytes f;
  file_start(&f, 1, records);
  file_number(&f, 10), file_number(&f, 2);
  file_text(&f, "t", 1), file_number(&f, 0);
  file_text(&f, "x", 1), file_number(&f, 3);
  file_number(&f, 0), file_number(&f, 0);
  file_number(&f, 11), file_number(&f, 2);
  for (unsigned i = 0; i < 2; ++i) {
    file_text(&f, i ? "b" : "a", 1);
    file_number(&f, 2), file_number(&f, 0), file_number(&f, 1);
    file_number(&f, 0), file_number(&f, 0);
    file_number(&f, 4), file_number(&f, 12), file_number(&f, GAP_BEGIN + i * 24);
  }
  for (size_t i = f.size; i < size; ++i) f.bytes[i] = (unsigned char)(i >= GAP_BEGIN + 24);
  f.size = size;
  file_write(&f, "deviations.nc");
}
static void gap_and_longer_header(void) {
  static const char note[1000] = "";
  int b, seen[3] = {0};
  write_gap(1, GAP_BEGIN + 36);
  MUST(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "note", sizeof note, note));
  STATUS(ncmpi_enddef(ncid));
  MUST(ncmpi_inq_varid(ncid, "b", &b));
  MUST(ncmpi_get_var_int_all(ncid, b, seen));
  show("b is %s", seen[2] == 0x01010101 ? "there" : "lost");
}
static void gap_and_new_variable(void) {
  int c, dimids[] = {0, 1};
  write_gap(1, GAP_BEGIN + 36);
  MUST(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_def_var(ncid, "c", NC_INT, 2, dimids, &c));
  STATUS(ncmpi_enddef(ncid));
  MUST(ncmpi_close(ncid));
  STATUS(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
}

/* A damaged header claims 2^50 records; there is one. */
static void records_that_are_not_there(void) {
  static const char note[1000] = "";
  const unsigned char records[] = {0, 4, 0, 0, 0, 0, 0, 0};
  define_and_end("deviations.nc", NC_64BIT_DATA);
  MUST(ncmpi_put_vara_int_all(ncid, record, origin, one, values));
  MUST(ncmpi_close(ncid));
  FILE* file = fopen("deviations.nc", "r+b");
  if (!file || fseek(file, 4, SEEK_SET) || fwrite(records, 1, 8, file) != 8 || fclose(file))
    MPI_Abort(MPI_COMM_WORLD, 7);
  MUST(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "note", sizeof note, note));
  STATUS(ncmpi_enddef(ncid));
}
/* The last variable in the file, with 14 bytes. */
static void padding_of_moved_variable(void) {
  static const char note[1000] = "";
  static const short data[7] = {1, 2, 3, 4, 5, 6, 7};
  int x, v;
  MPI_Offset begin = 0;
  struct stat file;
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 7, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_SHORT, 1, &x, &v));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_put_var_short_all(ncid, v, data));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "note", sizeof note, note));
  STATUS(ncmpi_enddef(ncid));
  MUST(ncmpi_inq_varoffset(ncid, v, &begin));
  MUST(ncmpi_close(ncid));
  if (stat("deviations.nc", &file)) MPI_Abort(MPI_COMM_WORLD, 7);
  show("%d bytes", (int)(file.st_size - begin));
}
static void get_beyond_the_end(void) {
  int a, seen[3] = {-7, -7, -7};
  const MPI_Offset start[] = {50, 0}, count[] = {1, 3};
  write_gap(1000, GAP_BEGIN + 36);
  MUST(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_varid(ncid, "a", &a));
  STATUS(ncmpi_get_vara_int_all(ncid, a, start, count, seen));
  show("%s", seen[0] || seen[1] || seen[2] ? "no zeros" : "zeros");
}

static void full_disk(void) {
  int x, varid;
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 4096 * report_ranks, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &varid));
  MUST(ncmpi_enddef(ncid));
  signal(SIGXFSZ, SIG_IGN);
  const struct rlimit limit = {8192, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  const MPI_Offset start[] = {4096 * report_rank}, count[] = {4096};
  STATUS(ncmpi_put_vara_int_all(ncid, varid, start, count, values));
}

static void create_with_a_path_of_one_rank(void) {
  STATUS(ncmpi_create(MPI_COMM_WORLD, report_rank ? NULL : "deviations.nc", 0, MPI_INFO_NULL, &ncid));
}
static void open_with_a_path_of_one_rank(void) {
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_close(ncid));
  STATUS(ncmpi_open(MPI_COMM_WORLD, report_rank ? "deviations.nc" : "", 0, MPI_INFO_NULL, &ncid));
}
static void create_without_place(void) {
  STATUS(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, NULL));
}
static void open_without_place(void) {
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_close(ncid));
  STATUS(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, NULL));
}

static void long_path(void) {
  char path[300] = "./";
  for (size_t i = strlen(path); i < 240; ++i) path[i] = i % 2 ? '/' : '.';
  strcpy(path + 240, "/deviations.nc");
  STATUS(ncmpi_create(MPI_COMM_WORLD, path, 0, MPI_INFO_NULL, &ncid));
  STATUS(ncmpi_close(ncid));
}

static void record_beyond_63_bits(void) {
  const MPI_Offset far[] = {(MPI_Offset)1 << 60, 0};
  define_and_end("deviations.nc", NC_64BIT_DATA);
  STATUS(ncmpi_put_vara_int_all(ncid, record, far, one, values));
}

static void path_with_prefix(void) {
  define_and_end("ufs:deviations.nc", 0);
  MUST(ncmpi_close(ncid));
  show("%s", access("ufs:deviations.nc", F_OK) ? "deviations.nc" : "ufs:deviations.nc");
  STATUS(ncmpi_open(MPI_COMM_WORLD, "ufs:deviations.nc", 0, MPI_INFO_NULL, &ncid));
}

static void mput_out_of_range(void) {
  int varids[2], pending = -1, seen[4] = {0};
  MPI_Offset start[] = {0}, *starts[] = {start, start}, count[] = {4}, *counts[] = {count, count};
  double large[] = {1, 1e30, 3, 4}, *buffers[] = {large, large};
  define_and_end("deviations.nc", 0);
  varids[0] = fixed, varids[1] = reals;
  for (int i = 0; i < 4; ++i) values[i] = -5;
  MUST(ncmpi_put_var_int_all(ncid, fixed, values));
  STATUS(ncmpi_mput_vara_double_all(ncid, 2, varids, starts, counts, buffers));
  MUST(ncmpi_inq_nreqs(ncid, &pending));
  MUST(ncmpi_get_var_int_all(ncid, fixed, seen));
  show("first %d, third %d, %d pending", seen[0], seen[2], pending);
}

static void put_size_of_overlapping_puts(void) {
  MPI_Offset before = 0, after = 0;
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_inq_put_size(ncid, &before));
  for (int i = 0; i < 2; ++i) MUST(ncmpi_iput_vara_int(ncid, fixed, origin, four, values, NULL));
  STATUS(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_inq_put_size(ncid, &after));
  show("%d bytes", (int)(after - before));
}
static void get_size_after_open(void) {
  MPI_Offset size = -1;
  define_and_end("deviations.nc", 0);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "deviations.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_get_size(ncid, &size));
  show("%s", size ? "some" : "none");
}

static void version(void) {
  const char* name = ncmpi_inq_libvers();
  show("%.9s%s", name, strstr(name, "Sluice") ? " and ours" : "");
}

static void subfiles(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "nc_num_subfiles", "3");
  MUST(ncmpi_create(MPI_COMM_WORLD, "deviations.nc", 0, info, &ncid));
  int x, varid;
  MUST(ncmpi_def_dim(ncid, "x", 12, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &varid));
  MUST(ncmpi_enddef(ncid));
  STATUS(ncmpi_put_var_int_all(ncid, varid, values));
  MUST(ncmpi_close(ncid));
  show("%s", access("deviations.nc.subfile_0.nc", F_OK) ? "one file" : "subfiles");
}

static void macros(void) {
  show("large %d, threads %d, subfiles %d, burst buffers %d, Fortran %d, C++ %d", PNETCDF_LARGE_SINGLE_REQ,
       PNETCDF_THREAD_SAFE, PNETCDF_SUBFILING, PNETCDF_BURST_BUFFERING, PNETCDF_ENABLE_FORTRAN,
       PNETCDF_ENABLE_CXX);
}

#define CASE(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    CASE(copy_att_fill_value),
    CASE(default_format_netcdf4),
    CASE(numbers_of_variables),
    CASE(copy_att_of_cdf5_type),
    CASE(copy_att_from_no_file),
    CASE(def_var_without_place),
    CASE(fill_var_rec_of_no_variable),
    CASE(fill_var_rec_before_first),
    CASE(fill_var_rec_too_far),
    CASE(fill_modes_differ),
    CASE(open_shared_for_reading),
    CASE(header_ends_early),
    CASE(mistake_of_one_rank),
    CASE(varn_out_of_range),
    CASE(overlapping_varn),
    CASE(overlapping_puts),
    CASE(wait_in_another_order),
    CASE(wait_with_invalid_id),
    CASE(text_into_numbers),
    CASE(null_buffer),
    CASE(null_ids),
    CASE(vard_outside),
    CASE(vard_of_another_type),
    CASE(vard_into_new_records),
    CASE(buffer_of_iput),
    CASE(in_place_swap_of_small_puts),
    CASE(blank_in_hints),
    CASE(alignment_of_variables),
    CASE(alignment_in_redefinitions),
    CASE(alignment_without_fixed),
    CASE(alignment_without_variables),
    CASE(hint_of_header_alignment),
    CASE(hint_of_subfiling),
    CASE(long_dimensions),
    CASE(gap_and_longer_header),
    CASE(gap_and_new_variable),
    CASE(records_that_are_not_there),
    CASE(padding_of_moved_variable),
    CASE(get_beyond_the_end),
    CASE(full_disk),
    CASE(create_with_a_path_of_one_rank),
    CASE(open_with_a_path_of_one_rank),
    CASE(create_without_place),
    CASE(open_without_place),
    CASE(long_path),
    CASE(record_beyond_63_bits),
    CASE(path_with_prefix),
    CASE(mput_out_of_range),
    CASE(put_size_of_overlapping_puts),
    CASE(get_size_after_open),
    CASE(version),
    CASE(subfiles),
    CASE(macros),
};

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(argv[1], cases[i].name)) continue;
    together();
    show("begin");
    cases[i].run();
    show("end");
    together();
    /* Files that a case leaves open stay open; cases do not test that. */
    _exit(0);
  }
  return 2;
}
