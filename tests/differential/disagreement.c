/* Collective metadata calls whose arguments differ between ranks, with and without safe mode, and errors
 * of one rank only. */
#include "report.h"

#define ME (report_rank == 0)

static void definitions(void) {
  int ncid, id = -1, dims[2] = {0, 0}, old;
  MUST(ncmpi_create(MPI_COMM_WORLD, "disagreement.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 4, &dims[0]));
  MUST(ncmpi_def_dim(ncid, "y", 5, &dims[1]));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &id));
  TRY(ncmpi_def_dim(ncid, ME ? "a/b" : "one_bad", 4, &id));
  TRY(ncmpi_def_dim(ncid, ME ? "one_bad2" : "a/b", 4, &id));
  TRY(ncmpi_def_var(ncid, ME ? "bad_type" : "bad_type", ME ? 99 : NC_INT, 0, NULL, &id));
  TRY(ncmpi_put_att_int(ncid, ME ? 0 : 99, "bad_variable", NC_INT, 1, &id));
  TRY(ncmpi_del_att(ncid, NC_GLOBAL, ME ? "no_such" : "no_such_either"));
  TRY(ncmpi_set_fill(ncid, ME ? NC_FILL : NC_NOFILL, &old));
  TRY(ncmpi_set_fill(ncid, NC_NOFILL, &old));
  int n = 0;
  TRY(ncmpi_inq_ndims(ncid, &n)), show("dimensions %d", n);
  TRY(ncmpi_inq_nvars(ncid, &n)), show("variables %d", n);
  TRY(ncmpi_close(ncid));
}

/* Each disagreement has its own dataset, because afterwards the header differs between ranks. */
static void one(const char* what) {
  int ncid, id = -1, old = 0, dims[2] = {0, 1};
  int five = 5, six = 6;
  show("-- %s", what);
  MUST(ncmpi_create(MPI_COMM_WORLD, "disagreement_one.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 4, &dims[0]));
  MUST(ncmpi_def_dim(ncid, "y", 5, &dims[1]));
  MUST(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &id));
  MUST(ncmpi_put_att_int(ncid, id, "a", NC_INT, 1, &five));
  if (!strcmp(what, "dimension name")) TRY(ncmpi_def_dim(ncid, ME ? "dim_a" : "dim_b", 4, &id));
  if (!strcmp(what, "dimension length")) TRY(ncmpi_def_dim(ncid, "d", ME ? 4 : 5, &id));
  if (!strcmp(what, "variable name")) TRY(ncmpi_def_var(ncid, ME ? "var_a" : "var_b", NC_INT, 2, dims, &id));
  if (!strcmp(what, "variable type")) TRY(ncmpi_def_var(ncid, "w", ME ? NC_INT : NC_FLOAT, 2, dims, &id));
  if (!strcmp(what, "variable ndims")) TRY(ncmpi_def_var(ncid, "w", NC_INT, ME ? 1 : 2, dims, &id));
  if (!strcmp(what, "variable dimids")) TRY(ncmpi_def_var(ncid, "w", NC_INT, 1, dims + !ME, &id));
  if (!strcmp(what, "attribute name"))
    TRY(ncmpi_put_att_int(ncid, 0, ME ? "att_a" : "att_b", NC_INT, 1, &five));
  if (!strcmp(what, "attribute type")) TRY(ncmpi_put_att_int(ncid, 0, "b", ME ? NC_INT : NC_FLOAT, 1, &five));
  if (!strcmp(what, "attribute value")) TRY(ncmpi_put_att_int(ncid, 0, "b", NC_INT, 1, ME ? &five : &six));
  if (!strcmp(what, "attribute length")) TRY(ncmpi_put_att_int(ncid, 0, "b", NC_INT, ME ? 1 : 0, &five));
  if (!strcmp(what, "attribute variable"))
    TRY(ncmpi_put_att_int(ncid, ME ? 0 : NC_GLOBAL, "b", NC_INT, 1, &five));
  if (!strcmp(what, "rename dimension")) TRY(ncmpi_rename_dim(ncid, 0, ME ? "p" : "q"));
  if (!strcmp(what, "rename which dimension")) TRY(ncmpi_rename_dim(ncid, ME ? 0 : 1, "p"));
  if (!strcmp(what, "rename variable")) TRY(ncmpi_rename_var(ncid, 0, ME ? "p" : "q"));
  if (!strcmp(what, "rename attribute")) TRY(ncmpi_rename_att(ncid, 0, "a", ME ? "p" : "q"));
  if (!strcmp(what, "delete attribute")) TRY(ncmpi_del_att(ncid, 0, ME ? "a" : "b"));
  if (!strcmp(what, "fill mode")) TRY(ncmpi_set_fill(ncid, ME ? NC_FILL : NC_NOFILL, &old));
  if (!strcmp(what, "variable fill mode")) TRY(ncmpi_def_var_fill(ncid, 0, ME, NULL));
  if (!strcmp(what, "fill value")) TRY(ncmpi_def_var_fill(ncid, 0, 0, ME ? &five : &six));
  if (!strcmp(what, "number of dimensions") && ME) MUST(ncmpi_def_dim(ncid, "z", 6, &id));
  if (!strcmp(what, "number of variables") && ME) MUST(ncmpi_def_var(ncid, "z", NC_INT, 0, NULL, &id));
  if (!strcmp(what, "number of attributes") && ME)
    MUST(ncmpi_put_att_int(ncid, NC_GLOBAL, "z", NC_INT, 1, &five));
  if (!strcmp(what, "enddef arguments")) {
    if (TRY(ncmpi__enddef(ncid, 0, ME ? 4 : 8, 0, 4)) == NC_NOERR) MUST(ncmpi_redef(ncid));
  }
  TRY(ncmpi_enddef(ncid));
  int n = 0;
  TRY(ncmpi_inq_ndims(ncid, &n)), show("dimensions %d", n);
  TRY(ncmpi_inq_nvars(ncid, &n)), show("variables %d", n);
  TRY(ncmpi_close(ncid));
}

/* Collective data access with mistakes on some ranks only. In safe mode all ranks get the worst of them. */
static void accesses(void) {
  int ncid, x, d, f, c, n;
  double b[4] = {1, 2, 3, 1e300};
  MUST(ncmpi_create(MPI_COMM_WORLD, "disagreement_access.nc", 0, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_var(ncid, "d", NC_DOUBLE, 1, &x, &d));
  MUST(ncmpi_def_var(ncid, "f", NC_FLOAT, 1, &x, &f));
  MUST(ncmpi_def_var(ncid, "c", NC_CHAR, 1, &x, &c));
  MUST(ncmpi_enddef(ncid));
  MPI_Offset first[1] = {0}, all[1] = {4};
  MPI_Offset start[1] = {ME ? 9 : 0}, count[1] = {report_rank == 1 ? 9 : 1};
  MPI_Offset *starts[1] = {start}, *counts[1] = {count};
  double* buffers[1] = {b};
  TRY(ncmpi_put_vara_double_all(ncid, d, start, count, b));
  TRY(ncmpi_get_vara_double_all(ncid, d, start, count, b));
  TRY(ncmpi_put_varn_double_all(ncid, d, 1, starts, counts, b));
  TRY(ncmpi_mput_vara_double_all(ncid, 1, &d, starts, counts, buffers));
  TRY(ncmpi_put_vara_double_all(ncid, ME ? 99 : d, first, all, b));
  TRY(ncmpi_put_vara_double_all(ncid, ME ? c : d, first, all, b));
  TRY(ncmpi_put_vara_double_all(ncid, ME ? f : d, first, all, b));
  TRY(ncmpi_put_vara_all(ncid, d, first, all, b, ME ? 2 : 4, MPI_DOUBLE));
  TRY(ncmpi_put_vard_all(ncid, ME ? 99 : d, MPI_DOUBLE, b, 1, MPI_DOUBLE));
  TRY(ncmpi_put_vard_all(ncid, d, ME ? MPI_INT : MPI_DOUBLE, b, 1, MPI_DOUBLE));
  TRY(ncmpi_get_vara_double_all(ncid, ME ? 99 : d, first, all, b));
  n = (int)b[1];
  show("after a mistake the buffer holds %d", n);
  TRY(ncmpi_close(ncid));
}

/* Without safe mode the reference does not check this, and crashes. */
static void fills(void) {
  int ncid, t, x, r, f, n;
  MUST(ncmpi_create(MPI_COMM_WORLD, "disagreement_fill.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  const int dimids[] = {t, x};
  MUST(ncmpi_def_var(ncid, "r", NC_INT, 2, dimids, &r));
  MUST(ncmpi_def_var(ncid, "f", NC_INT, 1, &x, &f));
  MUST(ncmpi_def_var(ncid, "n", NC_INT, 2, dimids, &n));
  MUST(ncmpi_def_var_fill(ncid, r, 0, NULL));
  MUST(ncmpi_def_var_fill(ncid, f, 0, NULL));
  TRY(ncmpi_fill_var_rec(ncid, r, 0));
  TRY(ncmpi_fill_var_rec(ncid, 99, 0));
  MUST(ncmpi_enddef(ncid));
  TRY(ncmpi_fill_var_rec(ncid, NC_GLOBAL, 0));
  TRY(ncmpi_fill_var_rec(ncid, 99, 0));
  TRY(ncmpi_fill_var_rec(ncid, ME ? 99 : r, 0));
  TRY(ncmpi_fill_var_rec(ncid, f, 0));
  TRY(ncmpi_fill_var_rec(ncid, n, 0));
  TRY(ncmpi_fill_var_rec(ncid, ME ? n : r, 0));
  TRY(ncmpi_fill_var_rec(ncid, r, ME ? 1 : 2));
  TRY(ncmpi_fill_var_rec(ncid, r, 1));
  MUST(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_fill_var_rec(ncid, r, 0));
  TRY(ncmpi_fill_var_rec(ncid, f, 0));
  MUST(ncmpi_end_indep_data(ncid));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "disagreement_fill.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_fill_var_rec(ncid, r, 0));
  TRY(ncmpi_fill_var_rec(ncid, 99, 0));
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  int ncid, is_safe = argc > 1 && !strcmp(argv[1], "safe");
  if (is_safe)
    setenv("PNETCDF_SAFE_MODE", "1", 1);
  else
    setenv("PNETCDF_SAFE_MODE", "0", 1);
  if (report_ranks > 1) {
    TRY(ncmpi_create(MPI_COMM_WORLD, "disagreement_mode.nc", ME ? 0 : NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
    int format = 0;
    TRY(ncmpi_inq_format(ncid, &format)), show("format %d", format);
    TRY(ncmpi_close(ncid));
    TRY(ncmpi_open(MPI_COMM_WORLD, "disagreement_mode.nc", ME ? NC_NOWRITE : NC_WRITE, MPI_INFO_NULL, &ncid));
    TRY(ncmpi_close(ncid));
    TRY(ncmpi_open(MPI_COMM_WORLD, "disagreement_mode.nc", ME ? NC_WRITE : NC_NOWRITE, MPI_INFO_NULL, &ncid));
    TRY(ncmpi_close(ncid));
  }
  if (is_safe) {
    definitions();
    const char* whats[] = {"dimension name",
                           "dimension length",
                           "variable name",
                           "variable type",
                           "variable ndims",
                           "variable dimids",
                           "attribute name",
                           "attribute type",
                           "attribute value",
                           "attribute length",
                           "attribute variable",
                           "rename dimension",
                           "rename which dimension",
                           "rename variable",
                           "rename attribute",
                           "delete attribute",
                           "fill mode",
                           "variable fill mode",
                           "fill value",
                           "enddef arguments",
                           NULL};
    for (int i = 0; whats[i]; ++i) one(whats[i]);
    fills();
  } else {
    const char* whats[] = {"dimension name",
                           "dimension length",
                           "variable name",
                           "variable type",
                           "variable ndims",
                           "variable dimids",
                           "attribute name",
                           "attribute type",
                           "attribute value",
                           "attribute length",
                           "attribute variable",
                           "rename dimension",
                           "rename variable",
                           "rename attribute",
                           "number of dimensions",
                           "number of variables",
                           "number of attributes",
                           "enddef arguments",
                           NULL}; /* with different fill modes the reference hangs */
    for (int i = 0; whats[i]; ++i) one(whats[i]);
  }
  accesses();
  return report_end();
}
