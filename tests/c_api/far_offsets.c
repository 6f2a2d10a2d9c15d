// Headers that claim data at offsets up to 2^63 - 1 and beyond, and puts to such records. They give an error,
// or zeros if offsets can be computed, and change nothing. Found by tools/test --fuzz.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  printf("does not hold: %s\n", what);
  ++failures;
}

static int open_golden(const char* name) {
  char path[4096];
  int file = -1;
  snprintf(path, sizeof path, "%s/%s", GOLDEN_FOLDER, name);
  expect(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &file) == NC_NOERR, name);
  return file;
}

static void records_that_cannot_be_there(void) {
  const int file = open_golden("ok_cdf5_far_records.nc");
  const MPI_Offset last[] = {INT64_MAX - 1, 0}, first[] = {0, 0}, count[] = {1, 3};
  int values[3] = {7, 7, 7};
  MPI_Offset records = 0;
  expect(ncmpi_inq_dimlen(file, 0, &records) == NC_NOERR && records == INT64_MAX,
         "the file says how many records it has");
  expect(ncmpi_get_vara_int_all(file, 1, first, count, values) == NC_NOERR && values[2] == 0,
         "the first record is read");
  expect(ncmpi_get_vara_int_all(file, 1, last, count, values) == NC_EINTOVERFLOW,
         "the last record has no offset");
  expect(ncmpi_begin_indep_data(file) == NC_NOERR, "independent access begins");
  expect(ncmpi_get_vara_int(file, 1, last, count, values) == NC_EINTOVERFLOW, "nor has it independently");
  expect(ncmpi_end_indep_data(file) == NC_NOERR, "independent access ends");
  expect(ncmpi_close(file) == NC_NOERR, "the file is closed");
}

static void data_up_to_the_end_of_what_is_possible(void) {
  const int file = open_golden("ok_cdf5_far_begin.nc");
  const MPI_Offset start[] = {0, 0}, count[] = {2, 2};
  int values[4] = {7, 7, 7, 7};
  // The file has no data there. The call must look for it at the right place.
  ncmpi_get_vara_int_all(file, 1, start, count, values);
  expect(ncmpi_close(file) == NC_NOERR, "the file is closed");
}

static void a_put_that_names_such_a_record(void) {
  int file = -1, dimids[2], varid = -1;
  expect(ncmpi_create(MPI_COMM_SELF, "far_offsets.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file) ==
             NC_NOERR,
         "create");
  ncmpi_def_dim(file, "t", NC_UNLIMITED, &dimids[0]);
  ncmpi_def_dim(file, "x", 3, &dimids[1]);
  ncmpi_def_var(file, "r", NC_INT, 2, dimids, &varid);
  expect(ncmpi_enddef(file) == NC_NOERR, "enddef");
  const MPI_Offset start[] = {INT64_MAX / 2, 0}, count[] = {1, 3};
  const int values[3] = {1, 2, 3};
  MPI_Offset records = -1;
  expect(ncmpi_put_vara_int_all(file, varid, start, count, values) == NC_EINTOVERFLOW, "the put is refused");
  expect(ncmpi_inq_dimlen(file, dimids[0], &records) == NC_NOERR && records == 0, "no records are made");
  expect(ncmpi_close(file) == NC_NOERR, "the new file is closed");
  unlink("far_offsets.nc");
}

static void a_fill_that_names_such_a_record(void) {
  const struct {
    int format;
    MPI_Offset record;
  } cases[] = {{NC_64BIT_DATA, INT64_MAX},
               {NC_64BIT_DATA, INT64_MAX - 1},
               {NC_64BIT_DATA, INT64_MAX / 12},
               {0, INT32_MAX},
               {0, INT64_MAX},
               {NC_64BIT_OFFSET, INT32_MAX}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int file = -1, dimids[2], varid = -1;
    MPI_Offset records = -1;
    ncmpi_create(MPI_COMM_SELF, "far_fill.nc", NC_CLOBBER | cases[i].format, MPI_INFO_NULL, &file);
    ncmpi_def_dim(file, "t", NC_UNLIMITED, &dimids[0]);
    ncmpi_def_dim(file, "x", 3, &dimids[1]);
    ncmpi_def_var(file, "r", NC_INT, 2, dimids, &varid);
    ncmpi_def_var_fill(file, varid, 0, NULL);
    expect(ncmpi_enddef(file) == NC_NOERR, "enddef");
    expect(ncmpi_fill_var_rec(file, varid, cases[i].record) == NC_EINTOVERFLOW, "the fill is refused");
    expect(ncmpi_inq_dimlen(file, dimids[0], &records) == NC_NOERR && records == 0, "no records are made");
    expect(ncmpi_close(file) == NC_NOERR, "the file is closed");
  }
  unlink("far_fill.nc");
}

static void copy_golden(const char* name, const char* to) {
  char path[4096], bytes[4096];
  snprintf(path, sizeof path, "%s/%s", GOLDEN_FOLDER, name);
  FILE *in = fopen(path, "rb"), *out = fopen(to, "wb");
  expect(in && out, "a golden file is copied");
  if (!in || !out) return;
  fwrite(bytes, 1, fread(bytes, 1, sizeof bytes, in), out);
  fclose(in);
  fclose(out);
}

/// Makes space for an attribute, and for variables with and without fill, in a file that claims 2^63 - 1
/// records.
static void a_redefinition_of_such_a_file(void) {
  for (int adds = 0; adds < 3; ++adds) {
    int file = -1, dimids[] = {0, 1}, varid = -1, first[3] = {-1, -1, -1};
    static const char text[1000] = "";
    copy_golden("ok_cdf5_far_records.nc", "far_redefined.nc");
    expect(ncmpi_open(MPI_COMM_SELF, "far_redefined.nc", NC_WRITE, MPI_INFO_NULL, &file) == NC_NOERR, "open");
    expect(ncmpi_redef(file) == NC_NOERR, "redef");
    ncmpi_put_att_text(file, NC_GLOBAL, "text", sizeof text, text);
    if (adds > 0) ncmpi_def_var(file, "new", NC_INT, 2, dimids, &varid);
    if (adds > 1) ncmpi_def_var_fill(file, varid, 0, NULL);
    const int status = ncmpi_enddef(file);
    expect(status == (adds > 1 ? NC_EINTOVERFLOW : NC_NOERR), "only what is there is moved");
    if (adds > 1) {
      ncmpi_abort(file);
      continue;
    }
    const MPI_Offset start[] = {0, 0}, count[] = {1, 3};
    expect(ncmpi_get_vara_int_all(file, 1, start, count, first) == NC_NOERR && first[2] == 0,
           "the first record is there");
    expect(ncmpi_close(file) == NC_NOERR, "the redefined file is closed");
  }
  unlink("far_redefined.nc");
}

/// Such a file has no meaningful data. Moving it must not allocate memory for a negative distance.
static void a_redefinition_of_records_that_overlap(void) {
  int file = -1;
  static const char text[1000] = "";
  copy_golden("ok_records_overlap.nc", "far_overlap.nc");
  expect(ncmpi_open(MPI_COMM_SELF, "far_overlap.nc", NC_WRITE, MPI_INFO_NULL, &file) == NC_NOERR, "open");
  expect(ncmpi_redef(file) == NC_NOERR, "redef");
  ncmpi_put_att_text(file, NC_GLOBAL, "text", sizeof text, text);
  expect(ncmpi_close(file) == NC_NOERR, "overlapping records are moved");
  unlink("far_overlap.nc");
}

/// The file's size determines the number of records, and one process looks at the size.
static void a_streamed_file_has_as_many_records_for_all(void) {
  int file = -1;
  MPI_Offset records = -1;
  expect(ncmpi_open(MPI_COMM_WORLD, GOLDEN_FOLDER "/ok_streaming.nc", NC_NOWRITE, MPI_INFO_NULL, &file) ==
             NC_NOERR,
         "the streamed file is opened");
  expect(ncmpi_inq_dimlen(file, 0, &records) == NC_NOERR && records == 2, "all see two records");
  expect(ncmpi_close(file) == NC_NOERR, "the streamed file is closed");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    records_that_cannot_be_there();
    data_up_to_the_end_of_what_is_possible();
    a_put_that_names_such_a_record();
    a_fill_that_names_such_a_record();
    a_redefinition_of_such_a_file();
    a_redefinition_of_records_that_overlap();
  }
  a_streamed_file_has_as_many_records_for_all();
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
