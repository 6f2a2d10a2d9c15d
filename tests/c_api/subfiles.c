/* What is special about files with subfiles. The differential tests show that they otherwise behave as
 * ordinary files. Run it with any number of ranks. GOLDEN_FOLDER has the golden files. */
#include <string.h>

#include "checks.h"

static MPI_Info with_hints(const char* subfiles, const char* subfiling) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (subfiles != NULL) MPI_Info_set(info, "nc_num_subfiles", subfiles);
  if (subfiling != NULL) MPI_Info_set(info, "pnetcdf_subfiling", subfiling);
  return info;
}

/* time(record), y, x; fixed field(y, x), series(time, y, x), small(two), times(time). */
static void define(int ncid) {
  int time, y, x, two, id;
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &time));
  MUST(ncmpi_def_dim(ncid, "y", 5, &y));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_dim(ncid, "two", 2, &two));
  const int dims[3] = {time, y, x};
  MUST(ncmpi_def_var(ncid, "field", NC_INT, 2, dims + 1, &id));
  MUST(ncmpi_def_var(ncid, "series", NC_FLOAT, 3, dims, &id));
  MUST(ncmpi_def_var(ncid, "small", NC_SHORT, 1, &two, &id));
  MUST(ncmpi_def_var(ncid, "times", NC_DOUBLE, 1, &time, &id));
}

static int value_of(int variable, int record, int i) {
  return 1000 * variable + 100 * record + i;
}

/* Each rank puts its share of the rows, for records [first, last). */
static void put_records(int ncid, int first, int last) {
  for (int record = first; record < last; ++record) {
    const int row = 5 * rank / ranks, rows = 5 * (rank + 1) / ranks - row;
    const MPI_Offset start[3] = {record, row, 0}, count[3] = {1, rows, 4};
    int values[20];
    for (int i = 0; i < 20; ++i) values[i] = value_of(1, record, 4 * row + i);
    MUST(ncmpi_put_vara_int_all(ncid, 1, start, count, values));
    const MPI_Offset at = record;
    const double time = record;
    MUST(ncmpi_put_var1_double_all(ncid, 3, &at, &time));
  }
}

static void check_records(int ncid, int records) {
  MPI_Offset length = 0;
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  EXPECT(length == records);
  int values[20];
  for (int record = 0; record < records; ++record) {
    const MPI_Offset start[3] = {record, 0, 0}, count[3] = {1, 5, 4};
    MUST(ncmpi_get_vara_int_all(ncid, 1, start, count, values));
    for (int i = 0; i < 20; ++i) EXPECT(values[i] == value_of(1, record, i));
  }
}

static void create(const char* path, int mode, MPI_Info info) {
  int ncid;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, mode, info, &ncid));
  define(ncid);
  MUST(ncmpi_enddef(ncid));
  int values[20];
  for (int i = 0; i < 20; ++i) values[i] = value_of(0, 0, i);
  MUST(ncmpi_put_var_int_all(ncid, 0, values));
  put_records(ncid, 0, 2);
  MUST(ncmpi_close(ncid));
}

/* More, fewer, or as many subfiles as ranks. Another open appends records. */
static void check_append(void) {
  MPI_Info info = with_hints("3", NULL);
  create("append.nc", NC_CLOBBER | NC_64BIT_DATA, info);
  MPI_Info_free(&info);
  EXPECT(file_exists("append.nc.subfile_0.nc") && file_exists("append.nc.subfile_2.nc"));
  EXPECT(!file_exists("append.nc.subfile_3.nc"));
  int ncid, dims[3], count = 0, attributes = -1;
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_var(ncid, 1, NULL, NULL, &count, dims, &attributes));
  EXPECT(count == 3 && dims[0] == 0 && dims[1] == 1 && dims[2] == 2 && attributes == 0);
  MUST(ncmpi_inq_natts(ncid, &attributes));
  EXPECT(attributes == 0);
  check_records(ncid, 2);
  put_records(ncid, 2, 4);
  check_records(ncid, 4);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  check_records(ncid, 4);
  MUST(ncmpi_close(ncid));
  /* Each process by itself. */
  MUST(ncmpi_open(MPI_COMM_SELF, "append.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  check_records(ncid, 4);
  MUST(ncmpi_close(ncid));
  /* A subfile is itself a netCDF file. */
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc.subfile_1.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MPI_Offset length = 0;
  MUST(ncmpi_inq_dimlen(ncid, 2, &length));
  EXPECT(length == 4);
  MUST(ncmpi_close(ncid));
}

/* A program that asks for subfiles and for blobs gets blobs. Attributes that only a master of blobs has do
 * not make a master of subfiles one. */
static void check_other_layout(void) {
  int ncid;
  const int files = 2;
  MPI_Info info = with_hints("2", NULL);
  create("marked.nc", NC_CLOBBER | NC_64BIT_DATA, info);
  MUST(ncmpi_open(MPI_COMM_WORLD, "marked.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "sluice_layout", 4, "blob"));
  MUST(ncmpi_put_att_int(ncid, NC_GLOBAL, "num_subfiles", NC_INT, 1, &files));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "marked.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  check_records(ncid, 2);
  MUST(ncmpi_close(ncid));
  MPI_Info_set(info, "sluice_layout", "blob");
  create("both.nc", NC_CLOBBER | NC_64BIT_DATA, info);
  MPI_Info_free(&info);
  EXPECT(!file_exists("both.nc.subfile_0.nc"));
}

/* New variables are divided, too. Metadata goes to all files. All of this in one open file. */
static void check_redefinition(void) {
  int ncid, id, dims[2];
  MPI_Info info = with_hints(NULL, "enable");
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc", NC_WRITE, info, &ncid));
  MPI_Info_free(&info);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_inq_dimid(ncid, "y", dims));
  MUST(ncmpi_inq_dimid(ncid, "x", dims + 1));
  MUST(ncmpi_def_var(ncid, "later", NC_INT, 2, dims, &id));
  MUST(ncmpi_def_var_fill(ncid, id, 0, NULL));
  char text[3000];
  memset(text, 'x', sizeof text);
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "history", sizeof text, text));
  MUST(ncmpi_rename_var(ncid, 1, "renamed"));
  MUST(ncmpi_enddef(ncid));
  check_records(ncid, 4);
  int values[20];
  MUST(ncmpi_get_var_int_all(ncid, id, values));
  for (int i = 0; i < 20; ++i) EXPECT(values[i] == NC_FILL_INT);
  MUST(ncmpi_get_var_int_all(ncid, 0, values));
  for (int i = 0; i < 20; ++i) EXPECT(values[i] == value_of(0, 0, i));
  /* In data mode: shorter names, and new values of the same size. */
  MUST(ncmpi_rename_dim(ncid, dims[0], "Y"));
  text[0] = 'y';
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "history", sizeof text, text));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_varid(ncid, "renamed", &id));
  MUST(ncmpi_inq_dimid(ncid, "Y", dims));
  check_records(ncid, 4);
  MUST(ncmpi_close(ncid));
}

static void expect_hints(int ncid, const char* subfiles, const char* subfiling) {
  MPI_Info info;
  char value[64] = "";
  int found = 0;
  MUST(ncmpi_inq_file_info(ncid, &info));
  MPI_Info_get(info, "nc_num_subfiles", sizeof value - 1, value, &found);
  EXPECT(found && strcmp(value, subfiles) == 0);
  MPI_Info_get(info, "pnetcdf_subfiling", sizeof value - 1, value, &found);
  EXPECT(found && strcmp(value, subfiling) == 0);
  MPI_Info_free(&info);
}

static void check_hints(void) {
  int ncid, count = -1, attributes = 0;
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  expect_hints(ncid, "3", "enable");
  MUST(ncmpi_close(ncid));
  /* The master without its subfiles. */
  MPI_Info info = with_hints(NULL, "disable");
  MUST(ncmpi_open(MPI_COMM_WORLD, "append.nc", NC_NOWRITE, info, &ncid));
  MUST(ncmpi_inq_var(ncid, 0, NULL, NULL, &count, NULL, &attributes));
  EXPECT(count == 0 && attributes == 10);
  MUST(ncmpi_close(ncid));
  MPI_Info_free(&info);
  info = with_hints("3", "disable");
  create("ordinary.nc", NC_CLOBBER, info);
  MPI_Info_free(&info);
  EXPECT(!file_exists("ordinary.nc.subfile_0.nc"));
}

static void check_existence(void) {
  int ncid;
  MPI_Info info = with_hints("3", NULL);
  EXPECT(ncmpi_create(MPI_COMM_WORLD, "append.nc", NC_NOCLOBBER, info, &ncid) == NC_EEXIST);
  /* An old subfile is not overwritten, either, and no master is left behind. */
  create("left.nc", NC_CLOBBER, info);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink("left.nc");
  EXPECT(!file_exists("left.nc"));
  EXPECT(ncmpi_create(MPI_COMM_WORLD, "left.nc", NC_NOCLOBBER, info, &ncid) == NC_EEXIST);
  EXPECT(!file_exists("left.nc"));
  /* An aborted create leaves no file. */
  MUST(ncmpi_create(MPI_COMM_WORLD, "aborted.nc", NC_CLOBBER, info, &ncid));
  MUST(ncmpi_abort(ncid));
  EXPECT(!file_exists("aborted.nc") && !file_exists("aborted.nc.subfile_0.nc"));
  create("deleted.nc", NC_CLOBBER, info);
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MUST(ncmpi_delete("deleted.nc", MPI_INFO_NULL));
  EXPECT(!file_exists("deleted.nc") && !file_exists("deleted.nc.subfile_1.nc"));
}

static void check_damage(void) {
  int ncid;
  MPI_Info info = with_hints("2", NULL);
  create("damaged.nc", NC_CLOBBER, info);
  create("other.nc", NC_CLOBBER, info);
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) rename("damaged.nc.subfile_1.nc", "damaged.nc.subfile_0.nc");
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(ncmpi_open(MPI_COMM_WORLD, "damaged.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid) == NC_ENOENT);
  EXPECT(strstr(sluice_last_error(), "damaged.nc.subfile_1.nc") != NULL);
  if (rank == 0) rename("other.nc.subfile_1.nc", "damaged.nc.subfile_1.nc");
  MPI_Barrier(MPI_COMM_WORLD);
  /* The first subfile is really the second one, with another share. */
  EXPECT(ncmpi_open(MPI_COMM_WORLD, "damaged.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid) == NC_ENOTNC);
  EXPECT(strstr(sluice_last_error(), "damaged.nc.subfile_0.nc") != NULL);
}

/* Written by PnetCDF itself. */
static void check_golden(const char* path) {
  int ncid, id, values[70];
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_varid(ncid, "grid", &id));
  MUST(ncmpi_get_var_int_all(ncid, id, values));
  for (int i = 0; i < 70; ++i) EXPECT(values[i] == i);
  const MPI_Offset start[2] = {1, 2}, count[2] = {4, 3}, stride[2] = {2, 2};
  MUST(ncmpi_get_vars_int_all(ncid, id, start, count, stride, values));
  for (int i = 0; i < 12; ++i) EXPECT(values[i] == 7 * (1 + 2 * (i / 3)) + 2 + 2 * (i % 3));
  MUST(ncmpi_inq_varid(ncid, "line", &id));
  MUST(ncmpi_get_var_int_all(ncid, id, values));
  for (int i = 0; i < 7; ++i) EXPECT(values[i] == i);
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_ranks();
  check_append();
  check_other_layout();
  check_redefinition();
  check_hints();
  check_existence();
  check_damage();
  check_golden(GOLDEN_FOLDER "/ok_cdf1.nc");
  check_golden(GOLDEN_FOLDER "/ok_cdf5.nc");
  return end_ranks();
}
