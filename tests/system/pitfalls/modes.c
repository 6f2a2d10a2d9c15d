/* Cases about the use of a file: records, modes, redefinition, attributes, names, communicators, order of
 * events. */
#include <unistd.h>

#include "check.h"

/* Records: different ranks write them in any order, a reader finds none, and one rank makes no call in
 * independent mode. */
static void records_writer(void) {
  const int ncid = create_file("case.nc", 0);
  int dims[2], id, unused;
  OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(ncid, "x", 8, &dims[1]));
  OK(ncmpi_def_var(ncid, "v", NC_SHORT, 2, dims, &id));
  OK(ncmpi_def_var(ncid, "late", NC_BYTE, 1, dims, &unused));
  OK(ncmpi_enddef(ncid));
  for (int record = 4; record >= 0; --record) {
    const int mine = record % ranks == rank;
    const MPI_Offset start[2] = {record, 0}, count[2] = {mine, mine ? 8 : 0};
    short values[8];
    for (int k = 0; k < 8; ++k) values[k] = (short)(10 * record + k);
    OK(ncmpi_put_vara_short_all(ncid, id, start, count, values));
    EQUAL(length_of(ncid, "time"), 5);
  }
  OK(ncmpi_begin_indep_data(ncid));
  if (rank == ranks - 1) { /* the others make no call at all */
    const MPI_Offset at[2] = {6, 3};
    const short value = 63;
    OK(ncmpi_put_var1_short(ncid, id, at, &value));
  }
  OK(ncmpi_end_indep_data(ncid));
  EQUAL(length_of(ncid, "time"), 7);
  OK(ncmpi_close(ncid));
}
static void records_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE), id = variable_of(ncid, "v");
  EQUAL(length_of(ncid, "time"), 7);
  short values[56];
  OK(ncmpi_get_var_short_all(ncid, id, values));
  for (int k = 0; k < 40; ++k) EQUAL(values[k], 10 * (k / 8) + k % 8);
  EQUAL(values[51], 63);
  const MPI_Offset beyond[2] = {7, 0}, straddling[2] = {6, 0}, two[2] = {2, 1};
  EXPECT(NC_EINVALCOORDS, ncmpi_get_var1_short_all(ncid, id, beyond, values));
  EXPECT(NC_EEDGE, ncmpi_get_vara_short_all(ncid, id, straddling, two, values));
  OK(ncmpi_close(ncid));
}

static void no_records_writer(void) {
  const int ncid = create_file("case.nc", 0);
  int dim, id;
  OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dim));
  OK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dim, &id));
  OK(ncmpi_enddef(ncid));
  OK(ncmpi_close(ncid));
}
static void no_records_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE), id = variable_of(ncid, "v");
  EQUAL(length_of(ncid, "time"), 0);
  int value;
  const MPI_Offset first = 0, none = 0;
  OK(ncmpi_get_var_int_all(ncid, id, &value));
  OK(ncmpi_get_vara_int_all(ncid, id, &first, &none, &value));
  EXPECT(NC_EINVALCOORDS, ncmpi_get_var1_int_all(ncid, id, &first, &value));
  OK(ncmpi_close(ncid));
}

/* Redefinition: a variable, an attribute and a dimension are added after data was written. */
static void redef_writer(void) {
  const int ncid = create_file("case.nc", 0);
  int dim, more, first, second;
  const MPI_Offset at = rank, length = ranks;
  OK(ncmpi_def_dim(ncid, "x", length, &dim));
  OK(ncmpi_def_var(ncid, "first", NC_INT, 1, &dim, &first));
  OK(ncmpi_enddef(ncid));
  int value = 100 + rank;
  OK(ncmpi_put_var1_int_all(ncid, first, &at, &value));
  OK(ncmpi_redef(ncid));
  OK(ncmpi_def_dim(ncid, "a_dimension_that_makes_the_header_grow_and_grow_and_grow", 3, &more));
  OK(ncmpi_def_var(ncid, "second", NC_DOUBLE, 1, &dim, &second));
  OK(ncmpi_put_att_text(ncid, first, "note", 5, "later"));
  OK(ncmpi_rename_var(ncid, first, "renamed"));
  OK(ncmpi_enddef(ncid));
  const double other = 0.5 + rank;
  OK(ncmpi_put_var1_double_all(ncid, second, &at, &other));
  OK(ncmpi_get_var1_int_all(ncid, first, &at,
                            &value)); /* reading the writer's own file while it is written */
  EQUAL(value, 100 + rank);
  OK(ncmpi_close(ncid));
}
static void redef_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE);
  const MPI_Offset length = length_of(ncid, "x");
  char note[6] = "";
  int* first = malloc(sizeof *first * (size_t)length);
  double* second = malloc(sizeof *second * (size_t)length);
  OK(ncmpi_get_var_int_all(ncid, variable_of(ncid, "renamed"), first));
  OK(ncmpi_get_var_double_all(ncid, variable_of(ncid, "second"), second));
  for (MPI_Offset k = 0; k < length; ++k) {
    EQUAL(first[k], 100 + k);
    EQUAL(second[k], 0.5 + (double)k);
  }
  OK(ncmpi_get_att_text(ncid, variable_of(ncid, "renamed"), "note", note));
  CHECK(strcmp(note, "later") == 0);
  free(first), free(second);
  OK(ncmpi_close(ncid));
}

/* Names that contain one another, in a folder and with dots and slashes. An attribute that changes from
 * file to file. A file that no rule names. */
static void names_writer(void) {
  const char* names[] = {"case.1.nc", "./case.10.nc", "case.100.nc"};
  for (int k = 0; k < 3; ++k) {
    const int ncid = create_file(names[k], 0);
    int id;
    OK(ncmpi_def_var(ncid, "v", NC_INT, 0, NULL, &id));
    OK(ncmpi_put_att_int(ncid, NC_GLOBAL, "number", NC_INT, 1, &k));
    OK(ncmpi_enddef(ncid));
    const int value = 7 * k;
    OK(ncmpi_put_var_int_all(ncid, id, &value));
    OK(ncmpi_close(ncid));
  }
  const int ncid = create_file("ordinary.nc", 0);
  OK(ncmpi_enddef(ncid));
  OK(ncmpi_close(ncid));
}
static void names_reader(void) {
  const char* names[] = {".//case.100.nc", "case.1.nc", "case.10.nc"};
  const int expected[] = {2, 0, 1};
  for (int k = 0; k < 3; ++k) {
    const int ncid = open_file(names[k], NC_NOWRITE);
    int number = -1, value = -1;
    OK(ncmpi_get_att_int(ncid, NC_GLOBAL, "number", &number));
    OK(ncmpi_get_var_int_all(ncid, variable_of(ncid, "v"), &value));
    EQUAL(number, expected[k]);
    EQUAL(value, 7 * expected[k]);
    OK(ncmpi_close(ncid));
  }
}

/* The communicator is freed while the file is open. Only some processes take part. bput copies at once,
 * iput at the wait. */
static void buffers_writer(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, rank, &half);
  if (rank != 0) return;
  int ncid, dim, a, b, requests[2];
  OK(ncmpi_create(half, "case.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MPI_Comm_free(&half);
  OK(ncmpi_def_dim(ncid, "x", 4, &dim));
  OK(ncmpi_def_var(ncid, "copied_at_once", NC_INT, 1, &dim, &a));
  OK(ncmpi_def_var(ncid, "copied_at_the_wait", NC_INT, 1, &dim, &b));
  OK(ncmpi_enddef(ncid));
  int first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
  OK(ncmpi_buffer_attach(ncid, 64));
  OK(ncmpi_bput_var_int(ncid, a, first, &requests[0]));
  OK(ncmpi_iput_var_int(ncid, b, second, &requests[1]));
  memset(first, 0, sizeof first);
  OK(ncmpi_wait_all(ncid, 2, requests, NULL));
  memset(second, 0, sizeof second);
  OK(ncmpi_buffer_detach(ncid));
  OK(ncmpi_close(ncid));
}
static void buffers_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE);
  int first[4], second[4];
  OK(ncmpi_begin_indep_data(ncid));
  if (rank == 0) OK(ncmpi_get_var_int(ncid, variable_of(ncid, "copied_at_once"), first));
  if (rank == 0) OK(ncmpi_get_var_int(ncid, variable_of(ncid, "copied_at_the_wait"), second));
  OK(ncmpi_end_indep_data(ncid));
  for (int k = 0; rank == 0 && k < 4; ++k) {
    EQUAL(first[k], 1 + k);
    EQUAL(second[k], 5 + k);
  }
  OK(ncmpi_close(ncid));
}

/* Records appended by reopening for writing. The reader comes when all is done ("done" is a separate
 * file). */
static void append_writer(void) {
  int ncid = create_file("case.nc", 0), dims[2], id;
  OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(ncid, "rank", ranks, &dims[1]));
  OK(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &id));
  OK(ncmpi_enddef(ncid));
  OK(ncmpi_close(ncid));
  for (int record = 0; record < 5; ++record) {
    ncid = open_file("case.nc", NC_WRITE);
    EQUAL(length_of(ncid, "time"), record);
    const MPI_Offset at[2] = {record, rank};
    const int value = 10 * record + rank;
    OK(ncmpi_put_var1_int_all(ncid, variable_of(ncid, "v"), at, &value));
    OK(ncmpi_close(ncid));
  }
  ncid = open_file("case.nc", NC_NOWRITE); /* reading the writer's own file */
  EQUAL(length_of(ncid, "time"), 5);
  OK(ncmpi_close(ncid));
  ncid = create_file("case.done.nc", 0);
  OK(ncmpi_enddef(ncid));
  OK(ncmpi_close(ncid));
}
static void append_reader(void) {
  OK(ncmpi_close(open_file("case.done.nc", NC_NOWRITE)));
  const int ncid = open_file("case.nc", NC_NOWRITE);
  const MPI_Offset writers = length_of(ncid, "rank");
  EQUAL(length_of(ncid, "time"), 5);
  int values[5 * 64];
  OK(ncmpi_get_var_int_all(ncid, variable_of(ncid, "v"), values));
  for (MPI_Offset k = 0; k < 5 * writers; ++k) EQUAL(values[k], 10 * (k / writers) + k % writers);
  OK(ncmpi_close(ncid));
}

/* The writer has exited before the reader opens; a file that never comes is NC_ENOENT. */
static void late_reader(void) {
  while (access("writer_has_ended", F_OK) != 0) usleep(20000);
  const int ncid = open_file("case.nc", NC_NOWRITE);
  OK(ncmpi_close(ncid));
  int never;
  EXPECT(NC_ENOENT, ncmpi_open(MPI_COMM_WORLD, "case.never.nc", NC_NOWRITE, MPI_INFO_NULL, &never));
}

/* Hundreds of small variables; every attribute type; one wait for all. */
enum { MANY = 400 };
static void many_writer(void) {
  const int ncid = create_file("case.nc", NC_64BIT_DATA);
  int dim, ids[MANY];
  char name[32];
  OK(ncmpi_def_dim(ncid, "x", 16 * (MPI_Offset)ranks, &dim));
  for (int v = 0; v < MANY; ++v) {
    snprintf(name, sizeof name, "v%d", v);
    OK(ncmpi_def_var(ncid, name, NC_FLOAT, 1, &dim, &ids[v]));
    const long long number = 1LL << 40;
    OK(ncmpi_put_att_longlong(ncid, ids[v], "large", NC_INT64, 1, &number));
  }
  OK(ncmpi_enddef(ncid));
  float(*values)[16] = malloc(sizeof *values * MANY);
  const MPI_Offset start = 16 * (MPI_Offset)rank, count = 16;
  for (int v = 0; v < MANY; ++v) {
    for (int k = 0; k < 16; ++k) values[v][k] = (float)(v * 1000 + start + k);
    OK(ncmpi_iput_vara_float(ncid, ids[v], &start, &count, values[v], NULL));
  }
  OK(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  free(values);
  OK(ncmpi_close(ncid));
}
static void many_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE);
  int variables;
  OK(ncmpi_inq_nvars(ncid, &variables));
  EQUAL(variables, MANY);
  const MPI_Offset length = length_of(ncid, "x");
  float* values = malloc(sizeof *values * (size_t)length);
  for (int v = rank; v < MANY; v += ranks) {
    long long number = 0;
    OK(ncmpi_get_att_longlong(ncid, v, "large", &number));
    CHECK(number == 1LL << 40);
  }
  for (int v = 0; v < MANY; ++v) {
    OK(ncmpi_get_var_float_all(ncid, v, values));
    for (MPI_Offset k = 0; k < length; ++k) EQUAL(values[k], v * 1000 + k);
  }
  free(values);
  OK(ncmpi_close(ncid));
}

const struct test_case mode_cases[] = {{"records", records_writer, records_reader},
                                       {"no_records", no_records_writer, no_records_reader},
                                       {"redef", redef_writer, redef_reader},
                                       {"names", names_writer, names_reader},
                                       {"buffers", buffers_writer, buffers_reader},
                                       {"append", append_writer, append_reader},
                                       {"late", no_records_writer, late_reader},
                                       {"many", many_writer, many_reader},
                                       {NULL, NULL, NULL}};
