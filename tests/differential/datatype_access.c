/* vard: an MPI datatype selects the part of the variable. Only types within the variable, because the
 * reference writes anywhere. */
#include "report.h"

static int ncid, fixed, record, other, scalar, shorts;
static int memory[512], seen[512];

static MPI_Datatype commit(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static void define(void) {
  int t, x, y;
  MUST(ncmpi_create(MPI_COMM_WORLD, "datatype_access.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 4 * report_ranks, &x));
  MUST(ncmpi_def_dim(ncid, "y", 5, &y));
  const int of_fixed[] = {x, y}, of_record[] = {t, x};
  MUST(ncmpi_def_var(ncid, "fixed", NC_INT, 2, of_fixed, &fixed));
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 2, of_record, &record));
  MUST(ncmpi_def_var(ncid, "other", NC_INT, 2, of_record, &other));
  MUST(ncmpi_def_var(ncid, "scalar", NC_INT, 0, NULL, &scalar));
  MUST(ncmpi_def_var(ncid, "shorts", NC_SHORT, 1, &x, &shorts));
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_put_var_int_all(ncid, fixed, memory + 200));
  MUST(ncmpi_put_var_int_all(ncid, shorts, memory + 100));
  const MPI_Offset start[] = {0, 0}, count[] = {3, 4 * report_ranks};
  MUST(ncmpi_put_vara_int_all(ncid, record, start, count, memory + 100));
  MUST(ncmpi_put_vara_int_all(ncid, other, start, count, memory + 100));
  /* All ranks have written everything. Only now may parts be overwritten. */
  MUST(ncmpi_sync(ncid));
  together();
}

static void show_variable(int varid, int n) {
  MUST(ncmpi_sync(ncid));
  MUST(ncmpi_get_var_int_all(ncid, varid, seen));
  for (int i = 0; i < n; ++i) show("  %d", seen[i]);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  for (int i = 0; i < 512; ++i) memory[i] = i + 1000 * report_rank * (i < 100);
  define();

  MPI_Datatype block, spread, records, own_shorts, reals, bytes, nothing;
  const int sizes[] = {4 * report_ranks, 5}, parts[] = {2, 3}, starts[] = {4 * report_rank + 1, 1};
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &block), commit(block);
  MPI_Type_vector(6, 1, 2, MPI_INT, &spread), commit(spread);
  MPI_Offset record_size = 0;
  MUST(ncmpi_inq_recsize(ncid, &record_size));
  MPI_Type_create_hvector(2, 4, record_size, MPI_INT, &records), commit(records);
  MPI_Type_contiguous(4, MPI_SHORT, &own_shorts), commit(own_shorts);
  MPI_Type_contiguous(6, MPI_FLOAT, &reals), commit(reals);
  MPI_Type_contiguous(4, MPI_BYTE, &bytes), commit(bytes);
  MPI_Type_contiguous(0, MPI_INT, &nothing), commit(nothing);
  const double doubles[] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5};

  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory + 7, 6, MPI_INT)),
      show_variable(fixed, 20 * report_ranks);
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory + 8, 1, spread)), show_variable(fixed, 20 * report_ranks);
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory + 9, 0, MPI_DATATYPE_NULL)),
      show_variable(fixed, 20 * report_ranks);
  TRY(ncmpi_put_vard_all(ncid, fixed, block, doubles, 6, MPI_DOUBLE)),
      show_variable(fixed, 20 * report_ranks);
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory, 5, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory, 0, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory, -2, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory, 6, MPI_CHAR));
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory, 6, MPI_PACKED));
  TRY(ncmpi_put_vard_all(ncid, fixed, MPI_PACKED, memory, 6, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, MPI_DATATYPE_NULL, memory, 1, spread));
  TRY(ncmpi_put_vard_all(ncid, fixed, MPI_DATATYPE_NULL, NULL, 0, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, nothing, memory, 2, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, reals, memory, 6, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed, bytes, memory, 1, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, shorts, block, memory, 6, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, 99, block, memory, 6, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, NC_GLOBAL, block, memory, 6, MPI_INT));
  TRY(ncmpi_put_vard(ncid, fixed, block, memory, 6, MPI_INT));
  if (report_ranks == 1) {
    TRY(ncmpi_put_vard_all(ncid, record, records, memory, 8, MPI_INT)), show_variable(record, 12);
    TRY(ncmpi_put_vard_all(ncid, other, records, memory, 8, MPI_INT)), show_variable(other, 12);
    memory[3] = 70000;
    TRY(ncmpi_put_vard_all(ncid, shorts, own_shorts, memory, 4, MPI_INT)), show_variable(shorts, 4);
    TRY(ncmpi_put_vard_all(ncid, scalar, MPI_INT, memory, 1, MPI_INT)), show_variable(scalar, 1);
  }
  memset(seen, 0, sizeof seen);
  TRY(ncmpi_get_vard_all(ncid, fixed, block, seen, 1, spread));
  for (int i = 0; i < 12; ++i) show("  %d", seen[i]);
  TRY(ncmpi_get_vard_all(ncid, record, records, seen, 8, MPI_INT));
  for (int i = 0; i < 8; ++i) show("  %d", seen[i]);
  MUST(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_put_vard_all(ncid, fixed, block, memory, 6, MPI_INT));
  TRY(ncmpi_put_vard(ncid, fixed, block, memory, 6, MPI_INT));
  TRY(ncmpi_get_vard(ncid, fixed, block, seen, 6, MPI_INT));
  for (int i = 0; i < 6; ++i) show("  %d", seen[i]);
  MUST(ncmpi_end_indep_data(ncid));
  MUST(ncmpi_close(ncid));

  MPI_Type_free(&block), MPI_Type_free(&spread), MPI_Type_free(&records), MPI_Type_free(&own_shorts);
  MPI_Type_free(&reals), MPI_Type_free(&bytes), MPI_Type_free(&nothing);
  return report_end();
}
