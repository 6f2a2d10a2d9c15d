/* What is special about files with blobs. The differential tests show that they otherwise behave as
 * ordinary files. Run it with any number of ranks. */
#include <string.h>

#include "checks.h"

enum { COLUMNS = 30 };

static MPI_Info blob_hints(const char* files, const char* buffer) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "sluice_layout", "blob");
  if (files != NULL) MPI_Info_set(info, "nc_num_subfiles", files);
  if (buffer != NULL) MPI_Info_set(info, "sluice_blob_buffer_size", buffer);
  return info;
}

static int value_of(int variable, int record, int i) {
  return 1000 * variable + 100 * record + i;
}

/* Every ranks-th column, in a list. */
static void put_columns(int ncid, int variable, int record) {
  MPI_Offset starts[COLUMNS][2], counts[COLUMNS][2], *start[COLUMNS], *count[COLUMNS];
  int values[COLUMNS], pieces = 0;
  for (int i = rank; i < COLUMNS; i += ranks, ++pieces) {
    starts[pieces][0] = record, starts[pieces][1] = i;
    counts[pieces][0] = counts[pieces][1] = 1;
    start[pieces] = starts[pieces], count[pieces] = counts[pieces];
    values[pieces] = value_of(variable, record, i);
  }
  MUST(ncmpi_put_varn_int_all(ncid, variable, pieces, start, count, values));
}

static void check_columns(int ncid, int variable, int records) {
  int values[COLUMNS];
  for (int record = 0; record < records; ++record) {
    const MPI_Offset start[2] = {record, 0}, count[2] = {1, COLUMNS};
    memset(values, 0xEE, sizeof values);
    MUST(ncmpi_get_vara_int_all(ncid, variable, start, count, values));
    for (int i = 0; i < COLUMNS; ++i) EXPECT(values[i] == value_of(variable, record, i));
  }
}

/* a, b: records, divided by columns. few: partly unwritten. bytes: from one rank. never: unwritten. */
static void define(int ncid) {
  int time, column, id;
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &time));
  MUST(ncmpi_def_dim(ncid, "ncol", COLUMNS, &column));
  const int dims[2] = {time, column};
  MUST(ncmpi_def_var(ncid, "a", NC_INT, 2, dims, &id));
  MUST(ncmpi_def_var(ncid, "b", NC_SHORT, 2, dims, &id));
  MUST(ncmpi_def_var(ncid, "few", NC_INT, 1, &column, &id));
  MUST(ncmpi_def_var(ncid, "bytes", NC_BYTE, 1, &column, &id));
  MUST(ncmpi_def_var(ncid, "never", NC_DOUBLE, 1, &column, &id));
  MUST(ncmpi_put_att_text(ncid, 0, "units", 1, "K"));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "what"));
}

static void write_some(int ncid) {
  put_columns(ncid, 0, 0);
  put_columns(ncid, 1, 0);
  put_columns(ncid, 0, 1);
  put_columns(ncid, 1, 1);
  const MPI_Offset start = 3, count = rank == 0 ? 2 : 0;
  const int two[2] = {7, 8};
  MUST(ncmpi_put_vara_int_all(ncid, 2, &start, &count, two));
  signed char bytes[COLUMNS];
  for (int i = 0; i < COLUMNS; ++i) bytes[i] = (signed char)i;
  const MPI_Offset zero = 0, all = rank == ranks - 1 ? COLUMNS : 0;
  MUST(ncmpi_put_vara_schar_all(ncid, 3, &zero, &all, bytes));
}

static void check_some(int ncid) {
  int values[COLUMNS];
  check_columns(ncid, 0, 2);
  check_columns(ncid, 1, 2);
  MUST(ncmpi_get_var_int_all(ncid, 2, values));
  EXPECT(values[3] == 7 && values[4] == 8);
  MUST(ncmpi_get_var_int_all(ncid, 3, values));
  for (int i = 0; i < COLUMNS; ++i) EXPECT(values[i] == i);
  MUST(ncmpi_get_var_int_all(ncid, 4, values));
}

/* All data is in memory until the end; or it is read while the file is written; or each put writes it. */
static void check_writing(const char* path, const char* files, const char* buffer, int reads_between) {
  int ncid, attributes = -1;
  MPI_Info info = blob_hints(files, buffer);
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, info, &ncid));
  MPI_Info_free(&info);
  define(ncid);
  MUST(ncmpi_enddef(ncid));
  write_some(ncid);
  if (reads_between) {
    check_some(ncid);
    MUST(ncmpi_sync(ncid));
    check_some(ncid);
  }
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  check_some(ncid);
  MUST(ncmpi_inq_natts(ncid, &attributes));
  EXPECT(attributes == 1);
  MUST(ncmpi_inq_varnatts(ncid, 0, &attributes));
  EXPECT(attributes == 1);
  MUST(ncmpi_close(ncid));
}

/* The same number of processes, and then a single process, add records. Also definitions. */
static void check_append(const char* path) {
  int ncid, ids[2], id, values[COLUMNS];
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  put_columns(ncid, 0, 2);
  put_columns(ncid, 1, 2);
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_inq_dimid(ncid, "time", ids));
  MUST(ncmpi_inq_dimid(ncid, "ncol", ids + 1));
  MUST(ncmpi_def_var(ncid, "later", NC_INT, 2, ids, &id));
  MUST(ncmpi_def_var(ncid, "filled", NC_INT, 1, ids + 1, &id));
  MUST(ncmpi_def_var_fill(ncid, id, 0, NULL));
  MUST(ncmpi_enddef(ncid));
  for (int record = 0; record < 3; ++record) put_columns(ncid, 5, record);
  check_columns(ncid, 0, 3);
  check_columns(ncid, 5, 3);
  MUST(ncmpi_close(ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MUST(ncmpi_open(MPI_COMM_SELF, path, NC_WRITE, MPI_INFO_NULL, &ncid));
    for (int variable = 0; variable < 6; variable += variable == 0 ? 1 : 4) {
      const MPI_Offset start[2] = {3, 0}, count[2] = {1, COLUMNS};
      for (int i = 0; i < COLUMNS; ++i) values[i] = value_of(variable, 3, i);
      MUST(ncmpi_put_vara_int_all(ncid, variable, start, count, values));
    }
    MUST(ncmpi_close(ncid));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  check_columns(ncid, 0, 4);
  check_columns(ncid, 1, 4);
  check_columns(ncid, 5, 4);
  MUST(ncmpi_get_var_int_all(ncid, 6, values));
  for (int i = 0; i < COLUMNS; ++i) EXPECT(values[i] == NC_FILL_INT);
  MUST(ncmpi_close(ncid));
}

static void check_independent(void) {
  int ncid, value = 0;
  MPI_Info info = blob_hints("1", NULL);
  MUST(ncmpi_create(MPI_COMM_WORLD, "independent.nc", NC_CLOBBER, info, &ncid));
  MPI_Info_free(&info);
  define(ncid);
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_begin_indep_data(ncid));
  for (int i = rank; i < COLUMNS; i += ranks) {
    const MPI_Offset at[2] = {0, i};
    const int wrong = -1, right = value_of(0, 0, i);
    MUST(ncmpi_put_var1_int(ncid, 0, at, &wrong));
    MUST(ncmpi_put_var1_int(ncid, 0, at, &right));
    MUST(ncmpi_get_var1_int(ncid, 0, at, &value));
    EXPECT(value == right);
  }
  MUST(ncmpi_end_indep_data(ncid));
  check_columns(ncid, 0, 1);
  MUST(ncmpi_close(ncid));
}

/* The files are as documented. */
static void check_files(const char* path) {
  int ncid, id, value = 0, dims[2], count = 0;
  char name[64], text[64] = "";
  MPI_Offset length = 0;
  snprintf(name, sizeof name, "%s.0000", path);
  MUST(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_get_att_int(ncid, NC_GLOBAL, "global_nprocs", &value));
  EXPECT(value == ranks);
  MUST(ncmpi_get_att_int(ncid, NC_GLOBAL, "num_decompositions", &value));
  EXPECT(value == (ranks == 1 ? 0 : 1)); /* a single process has no decomposition */
  if (ranks == 1) {
    MUST(ncmpi_close(ncid));
    return;
  }
  MUST(ncmpi_inq_varid(ncid, "a", &id));
  MUST(ncmpi_get_att_int(ncid, id, "decomposition_ID", &value));
  EXPECT(value == 1);
  int ids[2] = {-1, -1};
  MUST(ncmpi_get_att_int(ncid, id, "global_dimids", ids));
  EXPECT(ids[0] == 0 && ids[1] == 1);
  MUST(ncmpi_inq_var(ncid, id, NULL, NULL, &count, dims, NULL));
  EXPECT(count == 2);
  MUST(ncmpi_inq_dim(ncid, dims[1], text, &length));
  EXPECT(strcmp(text, "D1.nelems") == 0 && length <= COLUMNS);
  MUST(ncmpi_inq_varid(ncid, "b", &id));
  MUST(ncmpi_get_att_int(ncid, id, "decomposition_ID", &value));
  EXPECT(value == 1);
  MUST(ncmpi_inq_varid(ncid, "D1.nreqs", &id));
  MUST(ncmpi_get_att_int(ncid, id, "global_dimids", ids));
  EXPECT(ids[0] == 1);
  const MPI_Offset first = 0;
  MUST(ncmpi_get_var1_int_all(ncid, id, &first, &value));
  EXPECT(value == (COLUMNS + ranks - 1) / ranks);
  MUST(ncmpi_inq_varid(ncid, "D1.offsets", &id));
  MUST(ncmpi_inq_varid(ncid, "D1.lengths", &id));
  MUST(ncmpi_inq_varid(ncid, "D1.blob_start", &id));
  MUST(ncmpi_inq_varid(ncid, "D1.blob_count", &id));
  MUST(ncmpi_close(ncid));
}

static void check_mistakes(void) {
  int ncid, dim;
  MPI_Info info = blob_hints("1", NULL);
  MUST(ncmpi_create(MPI_COMM_WORLD, "names.nc", NC_CLOBBER, info, &ncid));
  MUST(ncmpi_def_dim(ncid, "D1.nelems", 4, &dim));
  EXPECT(ncmpi_enddef(ncid) == NC_ENAMEINUSE);
  MUST(ncmpi_abort(ncid));
  EXPECT(!file_exists("names.nc") && !file_exists("names.nc.0000"));
  EXPECT(ncmpi_create(MPI_COMM_WORLD, "late.nc", NC_NOCLOBBER, info, &ncid) == NC_EEXIST);
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink("late.nc.0000");
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(ncmpi_open(MPI_COMM_WORLD, "late.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid) == NC_ENOENT);
  EXPECT(strstr(sluice_last_error(), "late.nc.0000") != NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MUST(ncmpi_delete("between.nc", MPI_INFO_NULL));
  EXPECT(!file_exists("between.nc") && !file_exists("between.nc.0000"));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  start_ranks();
  check_writing("late.nc", NULL, NULL, 0);
  check_writing("between.nc", "2", NULL, 1);
  check_writing("early.nc", "99", "1", 0);
  check_files("late.nc");
  check_append("late.nc");
  check_append("early.nc");
  check_independent();
  check_mistakes();
  return end_ranks();
}
