/* The layout of files through redefinitions, by the rules of docs/formats/cdf.md, "Layout". Tests all
 * combinations of formats, hints from the environment and the info object, arguments of ncmpi__enddef,
 * reserved space, and growing headers. Data stays readable. */
#include <stdlib.h>
#include <string.h>

#include "checks.h"

typedef long long Bytes;

/* The alignments that hints ask for; 0: no hint. */
typedef struct {
  Bytes header, variable, record;
} Hints;

/* The changes of a stage before it leaves define mode. */
typedef struct {
  enum { STAY, GROW_BEYOND_EXTENT, GROW_INTO_ROOM, ADD_FIXED, REOPEN_AND_GROW } change;
  int room_left;                           /* GROW_INTO_ROOM: the space that remains */
  enum { NO_ARGUMENTS, ARGUMENTS } ending; /* ncmpi_enddef or ncmpi__enddef */
  Bytes h_minfree, v_align, v_minfree, r_align;
  enum { AS_IT_IS, BEYOND_EXTENT, BEYOND_RECORDS } raised; /* v_align or r_align is 4 more than this place */
} Stage;

static const Stage stages[] = {
    {.change = STAY, .ending = ARGUMENTS, .v_align = 4, .r_align = 4},
    {.change = REOPEN_AND_GROW},
    {.change = STAY, .ending = ARGUMENTS, .h_minfree = 76, .v_align = 4, .v_minfree = 44, .r_align = 4},
    {.change = GROW_INTO_ROOM,
     .room_left = 16,
     .ending = ARGUMENTS,
     .v_align = 4,
     .v_minfree = 31,
     .r_align = 4},
    {.change = GROW_INTO_ROOM, .room_left = 4},
    {.change = STAY, .ending = ARGUMENTS, .v_minfree = 31, .r_align = 4, .raised = BEYOND_EXTENT},
    {.change = STAY, .ending = ARGUMENTS, .v_align = 4, .v_minfree = 31, .raised = BEYOND_RECORDS},
    {.change = STAY},
    {.change = STAY, .ending = ARGUMENTS, .v_align = 1024, .r_align = 64},
    {.change = STAY, .ending = ARGUMENTS, .v_align = 1028, .r_align = 100},
    {.change = GROW_BEYOND_EXTENT},
    {.change = ADD_FIXED, .ending = ARGUMENTS, .v_minfree = 5},
    {.change = GROW_BEYOND_EXTENT, .ending = ARGUMENTS, .h_minfree = 1000},
    {.change = REOPEN_AND_GROW,
     .ending = ARGUMENTS,
     .h_minfree = 10,
     .v_align = 7,
     .v_minfree = 3,
     .r_align = 9},
};

static int ncid, has_fixed;
static int records[2], fixed[3], fixed_count;
static Hints environment, info_hints;
static MPI_Info info;

/* The expected layout. */
static struct {
  Bytes extent, records;          /* begins */
  Bytes data_align, record_align; /* the alignments in force */
} expected;

static Bytes round_up(Bytes bytes, Bytes unit) {
  return (bytes + unit - 1) / unit * unit;
}
/* The first that asks for an alignment, as a multiple of 4. */
static Bytes first_of(Bytes a, Bytes b, Bytes c, Bytes d) {
  return round_up(a ? a : b ? b : c ? c : d, 4);
}
static Bytes larger(Bytes a, Bytes b) {
  return a > b ? a : b;
}
static Bytes row_bytes(void) {
  return 4LL * 5 * ranks;
}

static void expect_alignments(const Stage* stage) {
  const int has_arguments = stage && stage->ending == ARGUMENTS;
  const Bytes of_environment = environment.variable ? environment.variable : environment.header;
  const Bytes of_info = info_hints.variable ? info_hints.variable : info_hints.header;
  expected.data_align = first_of(of_environment, of_info, has_arguments ? stage->v_align : 0, 512);
  expected.record_align = first_of(environment.record, info_hints.record, has_arguments ? stage->r_align : 0,
                                   has_fixed ? 4 : 512);
}

static void expect_layout(const Stage* stage, Bytes header_bytes) {
  const int has_arguments = stage && stage->ending == ARGUMENTS;
  expect_alignments(stage);
  expected.extent = larger(expected.extent, header_bytes + (has_arguments ? stage->h_minfree : 0));
  if (has_fixed) {
    expected.extent = round_up(expected.extent, expected.data_align);
    const Bytes end = expected.extent + fixed_count * row_bytes() + (has_arguments ? stage->v_minfree : 0);
    expected.records = round_up(larger(expected.records, end), expected.record_align);
  } else {
    expected.records = round_up(larger(expected.records, expected.extent), expected.record_align);
    expected.extent = expected.records;
  }
}

static int value_of(int varid, int record, int column) {
  return varid * 100000 + record * 1000 + column;
}

/* Puts this rank's part of one row: of a record, or of a whole variable. */
static void put_row(int varid, int record, int is_record) {
  int part[5];
  const MPI_Offset start[] = {record, 5 * rank}, count[] = {1, 5};
  for (int i = 0; i < 5; ++i) part[i] = value_of(varid, record, 5 * rank + i);
  MUST(ncmpi_put_vara_int_all(ncid, varid, is_record ? start : start + 1, is_record ? count : count + 1,
                              part));
}

static void check_row(int varid, int record, int is_record) {
  int row[5 * 16], same = 1;
  const MPI_Offset start[] = {record, 0}, count[] = {1, 5 * ranks};
  memset(row, 0, sizeof row);
  MUST(
      ncmpi_get_vara_int_all(ncid, varid, is_record ? start : start + 1, is_record ? count : count + 1, row));
  for (int i = 0; i < 5 * ranks; ++i) same = same && row[i] == value_of(varid, record, i);
  EXPECT(same);
}

static void check_hint(const char* key, Bytes wanted) {
  MPI_Info shown;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MUST(ncmpi_inq_file_info(ncid, &shown));
  MPI_Info_get(shown, (char*)key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&shown);
  EXPECT(found && atoll(value) == wanted);
}

static void check_file(const Stage* stage) {
  MPI_Offset size, extent, begin;
  MUST(ncmpi_inq_header_size(ncid, &size));
  expect_layout(stage, size);
  MUST(ncmpi_inq_header_extent(ncid, &extent));
  EXPECT(extent == expected.extent);
  for (int i = 0; i < fixed_count; ++i) {
    MUST(ncmpi_inq_varoffset(ncid, fixed[i], &begin));
    EXPECT(begin == expected.extent + i * row_bytes());
  }
  for (int i = 0; i < 2; ++i) {
    MUST(ncmpi_inq_varoffset(ncid, records[i], &begin));
    EXPECT(begin == expected.records + i * row_bytes());
  }
  check_hint("nc_var_align_size", expected.data_align);
  check_hint("nc_record_align_size", expected.record_align);
  for (int r = 0; r < 3; ++r) check_row(records[0], r, 1), check_row(records[1], r, 1);
  for (int i = 0; i < fixed_count && i < 2; ++i) check_row(fixed[i], 0, 0);
}

static void create_file(int format) {
  int dims[2];
  memset(&expected, 0, sizeof expected);
  MUST(ncmpi_create(MPI_COMM_WORLD, "redefinition.nc", NC_CLOBBER | format, info, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dims[0]));
  MUST(ncmpi_def_dim(ncid, "x", 5 * ranks, &dims[1]));
  MUST(ncmpi_def_var(ncid, "r0", NC_INT, 2, dims, &records[0]));
  fixed_count = has_fixed ? 2 : 0;
  if (has_fixed) MUST(ncmpi_def_var(ncid, "f0", NC_INT, 1, dims + 1, &fixed[0]));
  MUST(ncmpi_def_var(ncid, "r1", NC_INT, 2, dims, &records[1]));
  if (has_fixed) MUST(ncmpi_def_var(ncid, "f1", NC_INT, 1, dims + 1, &fixed[1]));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "grows", 0, NULL));
  MUST(ncmpi_enddef(ncid));
  for (int r = 0; r < 3; ++r) put_row(records[0], r, 1), put_row(records[1], r, 1);
  for (int i = 0; i < fixed_count; ++i) put_row(fixed[i], 0, 0);
  check_file(NULL);
}

/* Makes the header longer. Both numbers are multiples of 4. */
static void grow_header(Bytes bytes) {
  static char text[1 << 16];
  MPI_Offset length;
  MUST(ncmpi_inq_attlen(ncid, NC_GLOBAL, "grows", &length));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "grows", length + bytes, text));
}

static void change_file(const Stage* stage) {
  MPI_Offset size, extent;
  if (stage->change == REOPEN_AND_GROW) {
    MUST(ncmpi_close(ncid));
    MUST(ncmpi_open(MPI_COMM_WORLD, "redefinition.nc", NC_WRITE, info, &ncid));
  }
  MUST(ncmpi_inq_header_size(ncid, &size));
  MUST(ncmpi_inq_header_extent(ncid, &extent));
  MUST(ncmpi_redef(ncid));
  if (stage->change == GROW_BEYOND_EXTENT || stage->change == REOPEN_AND_GROW) grow_header(extent - size + 8);
  if (stage->change == GROW_INTO_ROOM && extent - size > stage->room_left)
    grow_header(extent - size - stage->room_left);
  if (stage->change == ADD_FIXED && has_fixed) {
    int x;
    MUST(ncmpi_inq_dimid(ncid, "x", &x));
    MUST(ncmpi_def_var(ncid, "f2", NC_INT, 1, &x, &fixed[fixed_count++]));
  }
}

static void run_stage(const Stage* table) {
  Stage stage = *table;
  if (stage.raised == BEYOND_EXTENT) stage.v_align = expected.extent + 4;
  if (stage.raised == BEYOND_RECORDS) stage.r_align = expected.records + 4;
  change_file(&stage);
  if (stage.ending == ARGUMENTS)
    MUST(ncmpi__enddef(ncid, stage.h_minfree, stage.v_align, stage.v_minfree, stage.r_align));
  else
    MUST(ncmpi_enddef(ncid));
  check_file(&stage);
}

static void run_all(int format) {
  create_file(format);
  for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) run_stage(&stages[i]);
  MUST(ncmpi_close(ncid));
}

/* The hints that are not 0, as text. */
static void set_environment(void) {
  char text[200] = "";
  const Bytes values[] = {environment.header, environment.variable, environment.record};
  const char* keys[] = {"nc_header_align_size", "nc_var_align_size", "nc_record_align_size"};
  for (int i = 0; i < 3; ++i) {
    char* const end = text + strlen(text);
    if (values[i]) snprintf(end, sizeof text - strlen(text), "%s=%lld;", keys[i], values[i]);
  }
  setenv("PNETCDF_HINTS", text, 1);
}

static void set_info(void) {
  const Bytes values[] = {info_hints.header, info_hints.variable, info_hints.record};
  const char* keys[] = {"nc_header_align_size", "nc_var_align_size", "nc_record_align_size"};
  MPI_Info_create(&info);
  for (int i = 0; i < 3; ++i) {
    char text[30];
    snprintf(text, sizeof text, "%lld", values[i]);
    if (values[i]) MPI_Info_set(info, (char*)keys[i], text);
  }
}

int main(int argc, char** argv) {
  const Hints environments[] = {{0, 0, 0},  {68, 76, 92}, {68, 0, 92}, {0, 76, 92},
                                {0, 76, 0}, {0, 0, 92},   {1000, 0, 0}};
  const Hints infos[] = {{0, 0, 0}, {28, 44, 52}, {28, 0, 0}, {0, 0, 2000}, {0, 197, 0}};
  const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  MPI_Init(&argc, &argv);
  start_ranks();
  int which = 0;
  for (size_t e = 0; e < sizeof environments / sizeof *environments; ++e) {
    for (size_t i = 0; i < sizeof infos / sizeof *infos; ++i) {
      environment = environments[e], info_hints = infos[i];
      set_environment();
      set_info();
      for (has_fixed = 0; has_fixed < 2; ++has_fixed) run_all(formats[which++ % 3]);
      MPI_Info_free(&info);
    }
  }
  return end_ranks();
}
