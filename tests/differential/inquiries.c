/* Every inquiry about a dataset with all kinds of objects, and about an empty one. */
#include "report.h"

static int is_defining;

/* `was_opened`: the reference does not count record variables of an opened dataset. */
static void inquire(int ncid, int was_opened) {
  int a = -9, b = -9, c = -9, d = -9, dims[10];
  MPI_Offset size = -9, extent = -9;
  char name[NC_MAX_NAME + 1];
  nc_type type;
  TRY(ncmpi_inq(ncid, &a, &b, &c, &d)), show("%d %d %d %d", a, b, c, d);
  TRY(ncmpi_inq(ncid, NULL, NULL, NULL, NULL));
  TRY(ncmpi_inq_ndims(ncid, &a)), show("%d", a);
  TRY(ncmpi_inq_nvars(ncid, &a)), show("%d", a);
  TRY(ncmpi_inq_natts(ncid, &a)), show("%d", a);
  if (!was_opened) {
    TRY(ncmpi_inq_num_rec_vars(ncid, &a)), show("%d", a);
    TRY(ncmpi_inq_num_fix_vars(ncid, &a)), show("%d", a);
  }
  TRY(ncmpi_inq_unlimdim(ncid, &a)), show("%d", a);
  TRY(ncmpi_inq_format(ncid, &a)), show("%d", a);
  TRY(ncmpi_inq_version(ncid, &a)), show("%d", a);
  TRY(ncmpi_inq_recsize(ncid, &size)), show("%lld", (long long)size);
  TRY(ncmpi_inq_header_size(ncid, &size));
  TRY(ncmpi_inq_header_extent(ncid, &extent));
  if (is_defining) size = 0; /* its length if it were written now: only PnetCDF 1.13 and later know it */
  show("header %lld in %lld", (long long)size, (long long)extent);
  TRY(ncmpi_inq_nreqs(ncid, &a)), show("%d", a);
  for (int i = -1; i < 5; ++i) {
    show("dimension %d", i);
    TRY(ncmpi_inq_dim(ncid, i, name, &size));
    TRY(ncmpi_inq_dim(ncid, i, NULL, NULL));
    if (ncmpi_inq_dimname(ncid, i, name) == NC_NOERR) show("%s", name);
    if (ncmpi_inq_dimlen(ncid, i, &size) == NC_NOERR) show("%lld", (long long)size);
  }
  for (int i = -2; i < 6; ++i) {
    show("variable %d", i);
    a = b = -9;
    if (TRY(ncmpi_inq_var(ncid, i, name, &type, &a, dims, &b)) == NC_NOERR && i >= 0) {
      show("%s type %d dims %d atts %d", name, type, a, b);
      for (int k = 0; k < a; ++k) show("dim %d", dims[k]);
      TRY(ncmpi_inq_varoffset(ncid, i, &size)), show("offset %lld", (long long)size);
    }
    if (i == NC_GLOBAL) continue;
    TRY(ncmpi_inq_var(ncid, i, NULL, NULL, NULL, NULL, NULL));
    TRY(ncmpi_inq_varname(ncid, i, name));
    TRY(ncmpi_inq_vartype(ncid, i, &type));
    TRY(ncmpi_inq_varndims(ncid, i, &a));
    TRY(ncmpi_inq_vardimid(ncid, i, dims));
    TRY(ncmpi_inq_varnatts(ncid, i, &a));
    int no_fill = -9;
    char value[8] = {0};
    if (TRY(ncmpi_inq_var_fill(ncid, i, &no_fill, value)) == NC_NOERR) {
      show("no_fill %d value %x %x %x %x", no_fill, value[0], value[1], value[2], value[3]);
    }
  }
  TRY(ncmpi_inq_varname(ncid, NC_GLOBAL, name));
  TRY(ncmpi_inq_vartype(ncid, NC_GLOBAL, &type));
  TRY(ncmpi_inq_varndims(ncid, NC_GLOBAL, &a));
  TRY(ncmpi_inq_vardimid(ncid, NC_GLOBAL, dims));
  TRY(ncmpi_inq_varnatts(ncid, NC_GLOBAL, &a)), show("%d", a);
  TRY(ncmpi_inq_dimid(ncid, "x", &a)), show("%d", a);
  TRY(ncmpi_inq_dimid(ncid, "x", NULL));
  TRY(ncmpi_inq_dimid(ncid, "nothing", &a));
  TRY(ncmpi_inq_dimid(ncid, "", &a));
  TRY(ncmpi_inq_dimid(ncid, NULL, &a));
  TRY(ncmpi_inq_varid(ncid, "v", &a)), show("%d", a);
  TRY(ncmpi_inq_varid(ncid, "v", NULL));
  TRY(ncmpi_inq_varid(ncid, "nothing", &a));
  TRY(ncmpi_inq_varid(ncid, "", &a));
  TRY(ncmpi_inq_varid(ncid, NULL, &a));
  TRY(ncmpi_inq_varid(ncid, "a/b", &a));
  TRY(ncmpi_inq_put_size(ncid, NULL));
  TRY(ncmpi_inq_get_size(ncid, NULL));
  MPI_Info info = MPI_INFO_NULL;
  TRY(ncmpi_get_file_info(ncid, &info)), show("info %d", info != MPI_INFO_NULL);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  TRY(ncmpi_inq_header_size(ncid, NULL));
  TRY(ncmpi_inq_header_extent(ncid, NULL));
  TRY(ncmpi_inq_recsize(ncid, NULL));
  TRY(ncmpi_inq_striping(ncid, &a, &b)), show("%d %d", a, b);
  TRY(ncmpi_inq_striping(ncid, NULL, NULL));
}

static void one_format(const char* path, int cmode, int fill) {
  int ncid, t, x, y, dims[3], id, value[20] = {0};
  show("==== %s", path);
  MUST(ncmpi_create(MPI_COMM_WORLD, path, cmode, MPI_INFO_NULL, &ncid));
  is_defining = 1;
  inquire(ncid, 0);
  if (fill) MUST(ncmpi_set_fill(ncid, NC_FILL, NULL));
  MUST(ncmpi_def_dim(ncid, "x", 5, &x));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "y", 7, &y));
  dims[0] = y, dims[1] = x;
  MUST(ncmpi_def_var(ncid, "v", NC_SHORT, 2, dims, &id));
  dims[0] = t;
  MUST(ncmpi_def_var(ncid, "r", NC_BYTE, 2, dims, &id));
  MUST(ncmpi_def_var(ncid, "s", NC_DOUBLE, 0, NULL, &id));
  MUST(ncmpi_def_var(ncid, "q", NC_FLOAT, 1, dims, &id));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "test"));
  MUST(ncmpi_put_att_text(ncid, 0, "units", 1, "m"));
  MUST(ncmpi_put_att_int(ncid, 1, "_FillValue", NC_BYTE, 1, value));
  inquire(ncid, 0);
  MUST(ncmpi_enddef(ncid));
  is_defining = 0;
  show("---- data mode");
  inquire(ncid, 0);
  MPI_Offset start[2] = {3, 0}, count[2] = {1, 5};
  MUST(ncmpi_put_vara_int_all(ncid, 1, start, count, value));
  inquire(ncid, 0);
  MUST(ncmpi_redef(ncid));
  is_defining = 1;
  MUST(ncmpi_def_var(ncid, "late", NC_INT, 2, dims, &id));
  show("---- redefinition");
  inquire(ncid, 0);
  MUST(ncmpi_enddef(ncid));
  is_defining = 0;
  inquire(ncid, 0);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  show("---- reopened");
  inquire(ncid, 1);
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  one_format("inquiries_1.nc", 0, 0);
  one_format("inquiries_2.nc", NC_64BIT_OFFSET, 0);
  one_format("inquiries_5.nc", NC_64BIT_DATA, 1);
  return report_end();
}
