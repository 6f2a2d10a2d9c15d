/* Redefines files with a layout that the library would not choose: gaps before, between and behind the
 * variables. There are no gaps between record variables, because the reference moves a record as one piece
 * and loses data behind a gap. Also fills new record variables in files with many small records. */
#include "file_bytes.h"
#include "report.h"

struct variable {
  const char* name;
  int is_record;
  unsigned type, bytes, begin;
};

/* Dimensions t (records) and x (3). The file's bytes up to `size` tell their own position. */
static void write_file(const char* path, unsigned records, const struct variable* variables, unsigned n,
                       size_t size) {
  static struct file_bytes f;
  file_start(&f, 1, records);
  file_number(&f, 10), file_number(&f, 2);
  file_text(&f, "t", 1), file_number(&f, 0);
  file_text(&f, "x", 1), file_number(&f, 3);
  file_number(&f, 0), file_number(&f, 0);
  file_number(&f, 11), file_number(&f, n);
  for (unsigned i = 0; i < n; ++i) {
    const struct variable* v = &variables[i];
    file_text(&f, v->name, strlen(v->name));
    file_number(&f, v->is_record ? 2 : 1);
    if (v->is_record) file_number(&f, 0);
    file_number(&f, 1), file_number(&f, 0), file_number(&f, 0);
    file_number(&f, v->type), file_number(&f, v->bytes), file_number(&f, v->begin);
  }
  for (size_t i = f.size; i < size; ++i) f.bytes[i] = (unsigned char)(i * 7 + i / 256);
  f.size = size;
  file_write(&f, path);
}

static void show_file(int ncid) {
  int variables;
  MPI_Offset value;
  MUST(ncmpi_inq_nvars(ncid, &variables));
  for (int i = 0; i < variables; ++i) {
    MUST(ncmpi_inq_varoffset(ncid, i, &value));
    show("variable %d at %lld", i, (long long)value);
  }
  MUST(ncmpi_inq_recsize(ncid, &value));
  show("records of %lld", (long long)value);
  MUST(ncmpi_inq_header_extent(ncid, &value));
  show("extent %lld", (long long)value);
}

static void redefine(const char* path, int adds_fixed, int adds_record, int attribute) {
  int ncid, dimids[2] = {0, 1}, varid;
  static const char text[2000] = "";
  show("---- %s: %d %d %d", path, adds_fixed, adds_record, attribute);
  if (TRY(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid)) != NC_NOERR) return;
  show_file(ncid);
  MUST(ncmpi_redef(ncid));
  if (adds_fixed) {
    MUST(ncmpi_def_var(ncid, "new fixed", NC_INT, 1, dimids + 1, &varid));
    MUST(ncmpi_def_var_fill(ncid, varid, 0, NULL));
  }
  if (adds_record) {
    MUST(ncmpi_def_var(ncid, "new record", NC_SHORT, 2, dimids, &varid));
    MUST(ncmpi_def_var_fill(ncid, varid, 0, NULL));
  }
  if (attribute) MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "text", attribute, text));
  TRY(ncmpi_enddef(ncid));
  show_file(ncid);
  MUST(ncmpi_close(ncid));
}

/* Makes each redefinition in its own file. */
static void all(const char* name, unsigned records, const struct variable* variables, unsigned n,
                size_t size) {
  const int changes[][3] = {{0, 0, 1}, {0, 0, 1500}, {1, 0, 0}, {0, 1, 0}, {1, 1, 700}};
  for (int i = 0; i < 5; ++i) {
    char path[60];
    snprintf(path, sizeof path, "%s%d.nc", name, i);
    if (report_rank == 0) write_file(path, records, variables, n, size);
    together();
    redefine(path, changes[i][0], changes[i][1], changes[i][2]);
  }
}
#define ALL(name, records, size, ...)                                          \
  do {                                                                         \
    const struct variable variables[] = {__VA_ARGS__};                         \
    all(name, records, variables, sizeof variables / sizeof *variables, size); \
  } while (0)

/* Adds record variables in fill mode behind `records` small records. */
static void fill(const char* path, MPI_Offset records, int format) {
  int ncid, dimids[2], varid;
  static int values[3 * 3000];
  const MPI_Offset start[] = {0, 0}, count[] = {report_rank == 0 ? records : 0, 3};
  for (int i = 0; i < 3 * 3000; ++i) values[i] = i;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | format, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dimids[0]));
  MUST(ncmpi_def_dim(ncid, "x", 3, &dimids[1]));
  MUST(ncmpi_def_var(ncid, "old", NC_INT, 2, dimids, &varid));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_put_vara_int_all(ncid, varid, start, count, values));
  MUST(ncmpi_redef(ncid));
  MUST(ncmpi_def_var(ncid, "shorts", NC_SHORT, 2, dimids, &varid));
  MUST(ncmpi_def_var_fill(ncid, varid, 0, NULL));
  MUST(ncmpi_def_var(ncid, "doubles", NC_DOUBLE, 1, dimids, &varid));
  const double own = 2.5;
  MUST(ncmpi_def_var_fill(ncid, varid, 0, &own));
  MUST(ncmpi_def_var(ncid, "large", NC_BYTE, 2, dimids, &varid));
  MUST(ncmpi_def_var_fill(ncid, varid, 0, NULL));
  TRY(ncmpi_enddef(ncid));
  show_file(ncid);
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  ALL("gaps", 2, 1024 + 48, {"a", 0, 4, 12, 300}, {"b", 0, 4, 12, 512}, {"r", 1, 4, 12, 1024},
      {"s", 1, 4, 12, 1036});
  ALL("records_only", 3, 256 + 3 * 24, {"r", 1, 4, 12, 256}, {"s", 1, 4, 12, 268});
  ALL("one_record_variable", 5, 256 + 5 * 6, {"r", 1, 3, 8, 256});
  ALL("fixed_only", 0, 244 + 24, {"a", 0, 4, 12, 244}, {"b", 0, 4, 12, 256});
  fill("fill_few.nc", 3, 0);
  fill("fill_many.nc", 3000, NC_64BIT_DATA);
  return report_end();
}
