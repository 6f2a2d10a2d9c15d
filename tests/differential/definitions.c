/* Valid and invalid definitions of dimensions and variables, in all formats, in define and data mode,
 * writable and read-only. */
#include <sys/mman.h>

#include "report.h"

static void define_dimensions(int ncid) {
  int format = 0;
  MUST(ncmpi_inq_format(ncid, &format));
  const int is_cdf2 = format == NC_FORMAT_CDF2;
  int id = -7;
  char name[400];
  TRY(ncmpi_def_dim(ncid, "x", 10, &id)), show("id %d", id);
  TRY(ncmpi_def_dim(ncid, "x", 11, &id)), show("id %d", id);
  TRY(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &id)), show("id %d", id);
  TRY(ncmpi_def_dim(ncid, "u", NC_UNLIMITED, &id));
  TRY(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &id));
  TRY(ncmpi_def_dim(ncid, "neg", -5, &id));
  TRY(ncmpi_def_dim(ncid, "neg1", -1, &id));
  TRY(ncmpi_def_dim(ncid, "", 5, &id));
  TRY(ncmpi_def_dim(ncid, NULL, 5, &id));
  TRY(ncmpi_def_dim(ncid, "a/b", 5, &id));
  TRY(ncmpi_def_dim(ncid, "trailing ", 5, &id));
  TRY(ncmpi_def_dim(ncid, " leading", 5, &id));
  TRY(ncmpi_def_dim(ncid, "a b", 5, &id));
  TRY(ncmpi_def_dim(ncid, "tab\t", 5, &id));
  TRY(ncmpi_def_dim(ncid, "del\177", 5, &id));
  TRY(ncmpi_def_dim(ncid, "-x", 5, &id));
  TRY(ncmpi_def_dim(ncid, "1x", 5, &id));
  TRY(ncmpi_def_dim(ncid, "_x", 5, &id));
  TRY(ncmpi_def_dim(ncid, "\xc3\xa9t\xc3\xa9", 5, &id));
  TRY(ncmpi_def_dim(ncid, "e\xcc\x81t\xc3\xa9", 5, &id)); /* the same name, decomposed */
  TRY(ncmpi_def_dim(ncid, "bad\xff", 5, &id));
  TRY(ncmpi_def_dim(ncid, "bad\xc3", 5, &id));
  memset(name, 'n', sizeof name);
  name[256] = 0;
  TRY(ncmpi_def_dim(ncid, name, 5, &id));
  name[256] = 'n', name[257] = 0;
  TRY(ncmpi_def_dim(ncid, name, 5, &id));
  TRY(ncmpi_def_dim(ncid, "a/b", -1, &id));
  TRY(ncmpi_def_dim(ncid, "x", -1, &id));
  TRY(ncmpi_def_dim(ncid, "x", NC_UNLIMITED, &id));
  TRY(ncmpi_def_dim(ncid, "no_result", 3, NULL));
  TRY(ncmpi_def_dim(ncid, "big31m4", 2147483643, &id));
  TRY(ncmpi_def_dim(ncid, "big31m3", 2147483644, &id));
  if (!is_cdf2) TRY(ncmpi_def_dim(ncid, "big31", 2147483648LL, &id)); /* 1.12.3 allows it in CDF-2 */
  TRY(ncmpi_def_dim(ncid, "big32m3", 4294967293LL, &id));
  TRY(ncmpi_def_dim(ncid, "big33", 8589934592LL, &id));
  TRY(ncmpi_def_dim(ncid, "big63", 9223372036854775807LL, &id));
  int n = -1;
  TRY(ncmpi_inq_ndims(ncid, &n)), show("dimensions %d", n);
}

static void define_variables(int ncid) {
  int id = -7, x = -1, t = -1, dims[4];
  MUST(ncmpi_inq_dimid(ncid, "x", &x));
  MUST(ncmpi_inq_dimid(ncid, "t", &t));
  dims[0] = x;
  TRY(ncmpi_def_var(ncid, "v", NC_INT, 1, dims, &id)), show("id %d", id);
  TRY(ncmpi_def_var(ncid, "v", NC_INT, 1, dims, &id)), show("id %d", id);
  TRY(ncmpi_def_var(ncid, "x", NC_FLOAT, 1, dims, &id)), show("id %d", id);
  TRY(ncmpi_def_var(ncid, "scalar", NC_DOUBLE, 0, NULL, &id)), show("id %d", id);
  dims[0] = t, dims[1] = x;
  TRY(ncmpi_def_var(ncid, "record", NC_SHORT, 2, dims, &id)), show("id %d", id);
  dims[0] = x, dims[1] = t;
  TRY(ncmpi_def_var(ncid, "wrong_place", NC_SHORT, 2, dims, &id));
  dims[0] = t, dims[1] = t;
  TRY(ncmpi_def_var(ncid, "twice_t", NC_SHORT, 2, dims, &id));
  dims[0] = x, dims[1] = x;
  TRY(ncmpi_def_var(ncid, "twice_x", NC_SHORT, 2, dims, &id));
  dims[0] = 99;
  TRY(ncmpi_def_var(ncid, "bad_dim", NC_SHORT, 1, dims, &id));
  dims[0] = -1;
  TRY(ncmpi_def_var(ncid, "bad_dim2", NC_SHORT, 1, dims, &id));
  dims[0] = x;
  TRY(ncmpi_def_var(ncid, "negative_ndims", NC_SHORT, -1, dims, &id));
  TRY(ncmpi_def_var(ncid, "null_dims", NC_SHORT, 1, NULL, &id));
  TRY(ncmpi_def_var(ncid, "", NC_SHORT, 1, dims, &id));
  TRY(ncmpi_def_var(ncid, NULL, NC_SHORT, 1, dims, &id));
  TRY(ncmpi_def_var(ncid, "a/b", NC_SHORT, 1, dims, &id));
  for (int type = -1; type <= 14; ++type) {
    char name[20];
    snprintf(name, sizeof name, "type_%d", type);
    show("type %d", type);
    TRY(ncmpi_def_var(ncid, name, type, 1, dims, &id));
  }
  TRY(ncmpi_def_var(ncid, "v", 77, 1, dims, &id));
  TRY(ncmpi_def_var(ncid, "a/b", 77, 1, dims, &id));
  TRY(ncmpi_def_var(ncid, "v", NC_INT, -1, dims, &id));
  TRY(ncmpi_def_var(ncid, "q", 77, -1, dims, &id));
  dims[0] = 99;
  TRY(ncmpi_def_var(ncid, "q", 77, 1, dims, &id));
  TRY(ncmpi_def_var(ncid, "v", NC_INT, 1, dims, &id));
  int n = -1;
  TRY(ncmpi_inq_nvars(ncid, &n)), show("variables %d", n);
}

static void rename_things(int ncid) {
  TRY(ncmpi_rename_dim(ncid, 0, "xx"));
  TRY(ncmpi_rename_dim(ncid, 0, "x"));
  TRY(ncmpi_rename_dim(ncid, 0, "x"));
  TRY(ncmpi_rename_dim(ncid, 0, "t"));
  TRY(ncmpi_rename_dim(ncid, 0, "t"));
  TRY(ncmpi_rename_dim(ncid, 99, "q"));
  TRY(ncmpi_rename_dim(ncid, -1, "q"));
  TRY(ncmpi_rename_dim(ncid, 0, ""));
  TRY(ncmpi_rename_dim(ncid, 0, NULL));
  TRY(ncmpi_rename_dim(ncid, 0, "a/b"));
  TRY(ncmpi_rename_dim(ncid, 99, "a/b"));
  TRY(ncmpi_rename_dim(ncid, 99, "t"));
  TRY(ncmpi_rename_dim(ncid, 0, "no_result"));
  TRY(ncmpi_rename_var(ncid, 0, "record"));
  TRY(ncmpi_rename_var(ncid, 0, "w"));
  TRY(ncmpi_rename_var(ncid, 0, "wlonger"));
  TRY(ncmpi_rename_var(ncid, 0, "v"));
  TRY(ncmpi_rename_var(ncid, 0, "v"));
  TRY(ncmpi_rename_var(ncid, 0, "x"));
  TRY(ncmpi_rename_var(ncid, 99, "q"));
  TRY(ncmpi_rename_var(ncid, -1, "q"));
  TRY(ncmpi_rename_var(ncid, -2, "q"));
  TRY(ncmpi_rename_var(ncid, 0, ""));
  TRY(ncmpi_rename_var(ncid, 0, NULL));
  TRY(ncmpi_rename_var(ncid, 99, "a/b"));
  TRY(ncmpi_rename_var(ncid, 99, "x"));
}

static void fill_modes(int ncid) {
  int old = -9, no_fill = -9, value = 42, read_back = 0;
  TRY(ncmpi_set_fill(ncid, NC_FILL, &old)), show("old %d", old);
  TRY(ncmpi_set_fill(ncid, NC_NOFILL, &old)), show("old %d", old);
  TRY(ncmpi_set_fill(ncid, 7, &old)), show("old %d", old);
  TRY(ncmpi_set_fill(ncid, NC_NOFILL, NULL));
  TRY(ncmpi_inq_var_fill(ncid, 0, &no_fill, &read_back)), show("no_fill %d value %d", no_fill, read_back);
  TRY(ncmpi_def_var_fill(ncid, 0, 0, &value));
  TRY(ncmpi_inq_var_fill(ncid, 0, &no_fill, &read_back)), show("no_fill %d value %d", no_fill, read_back);
  TRY(ncmpi_def_var_fill(ncid, 0, 1, NULL));
  TRY(ncmpi_inq_var_fill(ncid, 0, &no_fill, &read_back)), show("no_fill %d value %d", no_fill, read_back);
  TRY(ncmpi_def_var_fill(ncid, 0, 1, &value));
  TRY(ncmpi_inq_var_fill(ncid, 0, &no_fill, NULL)), show("no_fill %d", no_fill);
  TRY(ncmpi_inq_var_fill(ncid, 0, NULL, &read_back)), show("value %d", read_back);
  TRY(ncmpi_def_var_fill(ncid, NC_GLOBAL, 0, &value));
  TRY(ncmpi_def_var_fill(ncid, 99, 0, &value));
  TRY(ncmpi_def_var_fill(ncid, -5, 0, &value));
  TRY(ncmpi_inq_var_fill(ncid, NC_GLOBAL, &no_fill, &read_back));
  TRY(ncmpi_inq_var_fill(ncid, 99, &no_fill, &read_back));
}

static void one_format(const char* path, int cmode) {
  int ncid;
  show("---- %s", path);
  MUST(ncmpi_create(MPI_COMM_WORLD, path, cmode | NC_CLOBBER, MPI_INFO_NULL, &ncid));
  define_dimensions(ncid);
  define_variables(ncid);
  rename_things(ncid);
  fill_modes(ncid);
  TRY(ncmpi_enddef(ncid));
  show("data mode");
  int id;
  TRY(ncmpi_def_dim(ncid, "later", 3, &id));
  TRY(ncmpi_def_dim(ncid, "a/b", -3, &id));
  TRY(ncmpi_def_var(ncid, "later", NC_INT, 0, NULL, &id));
  TRY(ncmpi_def_var(ncid, "a/b", 77, 0, NULL, &id));
  rename_things(ncid);
  fill_modes(ncid);
  TRY(ncmpi_close(ncid));

  show("read only");
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_def_dim(ncid, "a/b", -3, &id));
  TRY(ncmpi_def_var(ncid, "a/b", 77, 0, NULL, &id));
  rename_things(ncid);
  fill_modes(ncid);
  TRY(ncmpi_close(ncid));

  show("reopened");
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  rename_things(ncid);
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_rename_dim(ncid, 0, "a_much_longer_name"));
  TRY(ncmpi_rename_var(ncid, 0, "another_much_longer_name"));
  TRY(ncmpi_def_dim(ncid, "later", 3, &id)), show("id %d", id);
  int later = id;
  TRY(ncmpi_def_var(ncid, "later", NC_INT, 1, &later, &id)), show("id %d", id);
  fill_modes(ncid);
  TRY(ncmpi_enddef(ncid));
  TRY(ncmpi_enddef(ncid));
  TRY(ncmpi_close(ncid));
}

/* More elements than CDF-1 and CDF-2 can count. The values are zeros, without memory for them. */
static void long_attributes(int cmode) {
  const MPI_Offset count = 2147483648LL;
  void* zeros = mmap(NULL, (size_t)count * 4, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int ncid, x, v;
  if (zeros == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 9);
  MUST(ncmpi_create(MPI_COMM_WORLD, "definitions_long.nc", cmode, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 3, &x));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 1, &x, &v));
  TRY(ncmpi_put_att_text(ncid, NC_GLOBAL, "text", count, zeros));
  TRY(ncmpi_put_att_schar(ncid, v, "bytes", NC_BYTE, count, zeros));
  TRY(ncmpi_put_att(ncid, v, "any", NC_BYTE, count, zeros));
  TRY(ncmpi_put_att_float(ncid, v, "_FillValue", NC_FLOAT, count, zeros));
  MUST(ncmpi_enddef(ncid));
  TRY(ncmpi_put_att_text(ncid, NC_GLOBAL, "text", count, zeros));
  MUST(ncmpi_close(ncid));
  munmap(zeros, (size_t)count * 4);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  one_format("definitions_cdf1.nc", 0);
  one_format("definitions_cdf2.nc", NC_64BIT_OFFSET);
  one_format("definitions_cdf5.nc", NC_64BIT_DATA);
  long_attributes(0);
  long_attributes(NC_64BIT_OFFSET);
  return report_end();
}
