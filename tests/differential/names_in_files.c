/* Names that cannot be defined, in files of other programs: Latin-1, '/', control characters, zero bytes,
 * empty names, names not in normal form C. The test makes the files byte by byte. */
#include "file_bytes.h"
#include "report.h"

#define NAME(literal) literal, sizeof(literal) - 1
struct name {
  const char* bytes;
  size_t size;
};
static const struct name names[] = {{NAME("gr\xf6\xdf"
                                          "e")},
                                    {NAME("a/b")},
                                    {NAME("a\nb")},
                                    {NAME("zero\0byte")},
                                    {NAME("")},
                                    {NAME(" +")},
                                    {NAME("\xed\xa0\x80")},
                                    {NAME("e\xcc\x81")},
                                    {NAME("padded\0\0")},
                                    {NAME("plain")}};
enum { NAMES = sizeof names / sizeof *names };

/* A file with a dimension, a global attribute and a variable of each name. */
static void write_file(const char* path) {
  static struct file_bytes f;
  file_start(&f, 1, 0);
  file_number(&f, 10), file_number(&f, NAMES);
  for (int i = 0; i < NAMES; ++i) {
    file_text(&f, names[i].bytes, names[i].size);
    file_number(&f, 1 + (unsigned)i % 3);
  }
  file_number(&f, 12), file_number(&f, NAMES);
  for (int i = 0; i < NAMES; ++i) {
    file_text(&f, names[i].bytes, names[i].size);
    file_number(&f, 4), file_number(&f, 1), file_number(&f, 100 + (unsigned)i);
  }
  file_number(&f, 11), file_number(&f, NAMES);
  for (int i = 0; i < NAMES; ++i) {
    file_text(&f, names[i].bytes, names[i].size);
    file_number(&f, 1), file_number(&f, (unsigned)i);
    file_number(&f, 12), file_number(&f, 1);
    file_text(&f, names[i].bytes, names[i].size), file_number(&f, 2), file_text(&f, "x", 1);
    file_number(&f, 4), file_number(&f, 4 * (1 + (unsigned)i % 3)), file_number(&f, 2048 + 12 * (unsigned)i);
  }
  f.size = 2048 + 12 * NAMES;
  for (unsigned i = 0; i < 3 * NAMES; ++i) f.bytes[2048 + 4 * i + 3] = (unsigned char)i;
  file_write(&f, path);
}

static void show_name(const char* what, int id, const char* name) {
  char hex[2 * NC_MAX_NAME + 1] = "";
  for (size_t i = 0; name[i]; ++i) sprintf(hex + 2 * i, "%02x", (unsigned char)name[i]);
  show("%s %d: %s", what, id, hex);
}

static void inquire(int ncid) {
  char name[NC_MAX_NAME + 1];
  int n, seen[3];
  MPI_Offset length;
  TRY(ncmpi_inq_ndims(ncid, &n));
  for (int i = 0; i < n; ++i) TRY(ncmpi_inq_dim(ncid, i, name, &length)), show_name("dimension", i, name);
  TRY(ncmpi_inq_natts(ncid, &n));
  for (int i = 0; i < n; ++i)
    TRY(ncmpi_inq_attname(ncid, NC_GLOBAL, i, name)), show_name("attribute", i, name);
  TRY(ncmpi_inq_nvars(ncid, &n));
  for (int i = 0; i < n; ++i) {
    TRY(ncmpi_inq_varname(ncid, i, name)), show_name("variable", i, name);
    TRY(ncmpi_inq_attname(ncid, i, 0, name)), show_name("its attribute", i, name);
    TRY(ncmpi_get_var_int_all(ncid, i, seen));
    show("  %d", seen[0]);
  }
  TRY(ncmpi_inq_header_size(ncid, &length));
  show("header size %lld", (long long)length);
}

static void look_up(int ncid) {
  for (int i = 0; i < NAMES; ++i) {
    int id = -7, value = -7;
    nc_type type = -7;
    MPI_Offset length = -7;
    show("name %d", i);
    TRY(ncmpi_inq_dimid(ncid, names[i].bytes, &id)), show("  %d", id);
    TRY(ncmpi_inq_varid(ncid, names[i].bytes, &id)), show("  %d", id);
    TRY(ncmpi_inq_attid(ncid, NC_GLOBAL, names[i].bytes, &id)), show("  %d", id);
    TRY(ncmpi_inq_att(ncid, NC_GLOBAL, names[i].bytes, &type, &length)), show("  %lld", (long long)length);
    TRY(ncmpi_get_att_int(ncid, NC_GLOBAL, names[i].bytes, &value)), show("  %d", value);
  }
  int id = -7;
  char longer[NC_MAX_NAME + 2] = "";
  memset(longer, 'x', NC_MAX_NAME + 1);
  TRY(ncmpi_inq_dimid(ncid, longer, &id));
  TRY(ncmpi_inq_varid(ncid, longer, &id));
  TRY(ncmpi_inq_attid(ncid, NC_GLOBAL, longer, &id));
  TRY(ncmpi_inq_att(ncid, NC_GLOBAL, longer, NULL, NULL));
  TRY(ncmpi_get_att_int(ncid, NC_GLOBAL, longer, &id));
}

static void change(int ncid) {
  int id = -7;
  const int value = 5;
  for (int i = 0; i < NAMES; ++i) {
    show("name %d", i);
    TRY(ncmpi_rename_att(ncid, NC_GLOBAL, names[i].bytes, "x"));
    TRY(ncmpi_put_att_int(ncid, i, names[i].bytes, NC_INT, 1, &value));
    TRY(ncmpi_copy_att(ncid, NC_GLOBAL, names[i].bytes, ncid, 1));
  }
  MUST(ncmpi_redef(ncid));
  for (int i = 0; i < NAMES; ++i) {
    show("name %d", i);
    TRY(ncmpi_def_dim(ncid, names[i].bytes, 2, &id)), show("  %d", id);
    TRY(ncmpi_def_var(ncid, names[i].bytes, NC_INT, 0, NULL, &id)), show("  %d", id);
    TRY(ncmpi_rename_dim(ncid, 9, names[i].bytes));
    TRY(ncmpi_rename_var(ncid, 9, names[i].bytes));
    TRY(ncmpi_put_att_int(ncid, i, names[i].bytes, NC_INT, 1, &value));
    TRY(ncmpi_rename_att(ncid, NC_GLOBAL, "plain", names[i].bytes));
    TRY(ncmpi_del_att(ncid, 2, names[i].bytes));
    TRY(ncmpi_copy_att(ncid, NC_GLOBAL, names[i].bytes, ncid, 1));
  }
  TRY(ncmpi_rename_var(ncid, 0, "grosse"));
  TRY(ncmpi_rename_dim(ncid, 0, "grosse"));
  TRY(ncmpi_enddef(ncid));
}

int main(int argc, char** argv) {
  int ncid;
  report_begin(&argc, &argv);
  if (report_rank == 0) write_file("names.nc");
  together();
  MUST(ncmpi_open(MPI_COMM_WORLD, "names.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  inquire(ncid);
  look_up(ncid);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "names.nc", NC_WRITE, MPI_INFO_NULL, &ncid));
  change(ncid);
  inquire(ncid);
  look_up(ncid);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "names.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  inquire(ncid);
  MUST(ncmpi_close(ncid));
  return report_end();
}
