/* view FILE…: opens files of another program and reports the results of all inquiries, and of calls that a
 * reader may not make. It reads no data: unwritten elements are fill values in memory, and arbitrary in a
 * file. */
#include "report.h"

static void view_attributes(int ncid, int varid, int count) {
  for (int i = 0; i < count; ++i) {
    char name[NC_MAX_NAME + 1] = "";
    nc_type type = 0;
    MPI_Offset length = -9;
    int id = -9;
    MUST(ncmpi_inq_attname(ncid, varid, i, name));
    MUST(ncmpi_inq_att(ncid, varid, name, &type, &length));
    MUST(ncmpi_inq_attid(ncid, varid, name, &id));
    show("attribute %d of %d: %s, type %d, length %lld", id, varid, name, type, (long long)length);
    if (length > 1000 || length < 1) continue;
    static double numbers[1000];
    static char text[1001];
    if (type == NC_CHAR) {
      memset(text, 0, sizeof text);
      TRY(ncmpi_get_att_text(ncid, varid, name, text)), show("  '%s'", text);
    } else {
      TRY(ncmpi_get_att_double(ncid, varid, name, numbers));
      for (int k = 0; k < length; ++k) show("  %.17g", numbers[k]);
    }
  }
}

static void view_variables(int ncid, int count) {
  for (int varid = 0; varid < count; ++varid) {
    char name[NC_MAX_NAME + 1] = "";
    int dims = -9, attributes = -9, no_fill = -9, dimids[16]; /* more than any program uses */
    nc_type type = 0;
    MPI_Offset offset = -9;
    unsigned char fill[8] = {0};
    MUST(ncmpi_inq_var(ncid, varid, name, &type, &dims, dimids, &attributes));
    show("variable %d: %s, type %d, %d dimensions, %d attributes", varid, name, type, dims, attributes);
    for (int i = 0; i < dims; ++i) show("  dimension %d", dimids[i]);
    TRY(ncmpi_inq_varoffset(ncid, varid, &offset)), show("  offset %lld", (long long)offset);
    /* The reference also accepts the bytes of an attribute of another type. */
    nc_type type_of_fill = type;
    ncmpi_inq_atttype(ncid, varid, "_FillValue", &type_of_fill);
    TRY(ncmpi_inq_var_fill(ncid, varid, &no_fill, fill));
    if (type_of_fill == type) show("  no_fill %d, %x %x %x %x", no_fill, fill[0], fill[1], fill[2], fill[3]);
    view_attributes(ncid, varid, attributes);
    /* Beyond all bounds, and of a wrong kind. */
    MPI_Offset start[16], one[16];
    for (int i = 0; i < dims; ++i) start[i] = 1LL << 40, one[i] = 1;
    double value = 0;
    char letter = 0;
    if (dims > 0) {
      TRY(ncmpi_get_vara_double_all(ncid, varid, start, one, &value));
      TRY(ncmpi_get_vara_text_all(ncid, varid, start, one, &letter));
    }
    TRY(ncmpi_put_var1_double_all(ncid, varid, start, &value));
  }
}

static void view(const char* path) {
  int ncid, dims = -9, variables = -9, attributes = -9, unlimited = -9, format = -9, version = -9;
  MPI_Offset size = -9, extent = -9, records = -9;
  show("==== %s", path);
  TRY(ncmpi_inq_file_format(path, &format)), show("file format %d", format);
  if (TRY(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid)) != NC_NOERR) return;
  MUST(ncmpi_inq(ncid, &dims, &variables, &attributes, &unlimited));
  show("%d dimensions, %d variables, %d attributes, records: %d", dims, variables, attributes, unlimited);
  TRY(ncmpi_inq_format(ncid, &format)), show("format %d", format);
  TRY(ncmpi_inq_version(ncid, &version)), show("version 0x%x", (unsigned)version);
  TRY(ncmpi_inq_header_size(ncid, &size)), show("header %lld", (long long)size);
  TRY(ncmpi_inq_header_extent(ncid, &extent)), show("extent %lld", (long long)extent);
  TRY(ncmpi_inq_recsize(ncid, &records)), show("records of %lld", (long long)records);
  for (int i = 0; i < dims; ++i) {
    char name[NC_MAX_NAME + 1] = "";
    MPI_Offset length = -9;
    MUST(ncmpi_inq_dim(ncid, i, name, &length));
    show("dimension %d: %s, %lld", i, name, (long long)length);
  }
  view_attributes(ncid, NC_GLOBAL, attributes);
  view_variables(ncid, variables);
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_sync(ncid));
  TRY(ncmpi_sync_numrecs(ncid));
  TRY(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_end_indep_data(ncid));
  MPI_Offset put = -9;
  TRY(ncmpi_inq_put_size(ncid, &put)), show("put %lld", (long long)put);
  TRY(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  for (int i = 1; i < argc; ++i) view(argv[i]);
  return report_end();
}
