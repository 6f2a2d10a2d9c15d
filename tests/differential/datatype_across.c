/* vard with file types that reach from one variable into another, or through the records of several.
 * PnetCDF allows this since 1.9.1 for variables of one type. Each rank has a block of the fast dimension. */
#include "report.h"

enum { NY = 2, NX = 5, RECORDS = 3 };

static int ncid, x, fixed[2], reals, record[3];
static MPI_Offset offsets[6], record_size;
static int values[1024], seen[1024];

static MPI_Datatype commit(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static void define(const char* name, int format) {
  int t, y;
  MUST(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | format, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "y", NY, &y));
  MUST(ncmpi_def_dim(ncid, "x", NX * report_ranks, &x));
  const int dimids[] = {t, y, x};
  MUST(ncmpi_def_var(ncid, "fixed0", NC_INT, 2, dimids + 1, &fixed[0]));
  MUST(ncmpi_def_var(ncid, "fixed1", NC_INT, 2, dimids + 1, &fixed[1]));
  MUST(ncmpi_def_var(ncid, "reals", NC_FLOAT, 1, dimids + 2, &reals));
  MUST(ncmpi_def_var(ncid, "record0", NC_INT, 3, dimids, &record[0]));
  MUST(ncmpi_def_var(ncid, "record1", NC_INT, 3, dimids, &record[1]));
  MUST(ncmpi_def_var(ncid, "record2", NC_INT, 1, dimids, &record[2]));
  for (int id = 0; id < 6; ++id) MUST(ncmpi_def_var_fill(ncid, id, 0, NULL));
  MUST(ncmpi_enddef(ncid));
  for (int id = 0; id < 6; ++id) MUST(ncmpi_inq_varoffset(ncid, id, &offsets[id]));
  MUST(ncmpi_inq_recsize(ncid, &record_size));
  for (int i = 0; i < 3; ++i) {
    for (MPI_Offset r = 0; r < RECORDS; ++r) MUST(ncmpi_fill_var_rec(ncid, record[i], r));
  }
  MUST(ncmpi_sync(ncid));
  together();
}

/* This rank's block of several variables, moved by `shift` bytes, one after another. */
static MPI_Datatype blocks(int n, const int* varids, const MPI_Aint* shifts) {
  MPI_Datatype type, types[16];
  MPI_Aint places[16];
  int lengths[16];
  const int sizes[] = {NY, NX * report_ranks}, parts[] = {NY, NX}, starts[] = {0, NX * report_rank};
  for (int i = 0; i < n; ++i) {
    lengths[i] = varids[i] != record[2] || report_rank == 0; /* no two ranks write the same elements */
    places[i] = offsets[varids[i]] - offsets[varids[0]] + shifts[i];
    if (varids[i] == record[2]) {
      types[i] = MPI_INT;
    } else {
      MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &types[i]);
    }
  }
  MPI_Type_create_struct(n, lengths, places, types, &type);
  for (int i = 0; i < n; ++i) {
    if (varids[i] != record[2]) MPI_Type_free(&types[i]);
  }
  return commit(type);
}

static void show_all(void) {
  MPI_Offset records;
  MUST(ncmpi_sync(ncid));
  together();
  MUST(ncmpi_inq_dimlen(ncid, 0, &records));
  show("%lld records", (long long)records);
  for (int id = 0; id < 6; ++id) {
    if (id == reals) continue;
    const MPI_Offset n = (id == record[2] ? 1 : NY * NX * report_ranks) * (id >= record[0] ? records : 1);
    MUST(ncmpi_get_var_int_all(ncid, id, seen));
    for (MPI_Offset i = 0; i < n; ++i) show("  %d: %d", id, seen[i]);
  }
  together();
}

static void show_read(int n) {
  for (int i = 0; i < n; ++i) show("  %d", seen[i]);
  memset(seen, 0, sizeof seen);
}

static void fixed_variables(void) {
  const int both[] = {fixed[0], fixed[1]};
  const MPI_Aint shifts[] = {0, 0};
  MPI_Datatype type = blocks(2, both, shifts), scattered;
  MPI_Type_vector(NY * NX * 2, 1, 2, MPI_INT, &scattered), commit(scattered);
  TRY(ncmpi_put_vard_all(ncid, fixed[0], type, values, 2 * NY * NX, MPI_INT)), show_all();
  TRY(ncmpi_get_vard_all(ncid, fixed[0], type, seen, 2 * NY * NX, MPI_INT)), show_read(2 * NY * NX);
  TRY(ncmpi_put_vard_all(ncid, fixed[0], type, values + 7, 1, scattered)), show_all();
  TRY(ncmpi_get_vard_all(ncid, fixed[0], type, seen, 1, scattered)), show_read(4 * NY * NX);
  double wide[4 * NY * NX];
  for (int i = 0; i < 4 * NY * NX; ++i) wide[i] = i == 13 ? 1e20 : i * 1.5;
  TRY(ncmpi_put_vard_all(ncid, fixed[0], type, wide, 2 * NY * NX, MPI_DOUBLE)), show_all();
  TRY(ncmpi_get_vard_all(ncid, fixed[0], type, wide, 2 * NY * NX, MPI_DOUBLE));
  for (int i = 0; i < 2 * NY * NX; ++i) show("  %g", wide[i]);
  TRY(ncmpi_put_vard_all(ncid, fixed[0], type, values, 2 * NY * NX - 1, MPI_INT));
  TRY(ncmpi_put_vard_all(ncid, fixed[0], type, values, 2 * NY * NX - 1, MPI_CHAR));
  TRY(ncmpi_put_vard_all(ncid, fixed[0], type, values, 2 * NY * NX, MPI_CHAR));
  TRY(ncmpi_put_vard_all(ncid, reals, type, values, 2 * NY * NX, MPI_INT));
  MPI_Type_free(&scattered);
  MPI_Type_free(&type);
  /* One run of bytes from the end of one variable into the next. */
  const int lengths[] = {report_rank == 0 ? 6 : 0};
  const MPI_Aint places[] = {offsets[fixed[1]] - offsets[fixed[0]] - 12};
  MPI_Datatype across;
  together();
  MPI_Type_create_hindexed(1, lengths, places, MPI_INT, &across), commit(across);
  TRY(ncmpi_put_vard_all(ncid, fixed[0], across, values + 70, lengths[0], MPI_INT)), show_all();
  TRY(ncmpi_get_vard_all(ncid, fixed[0], across, seen, lengths[0], MPI_INT)), show_read(6);
  MPI_Type_free(&across);
}

static void record_variables(void) {
  const MPI_Aint r = record_size;
  const int three[] = {record[0], record[1], record[2], record[0], record[1], record[2]};
  const MPI_Aint shifts[] = {0, 0, 0, r, r, r}, later[] = {3 * r, 3 * r, 3 * r};
  const int n = 2 * (2 * NY * NX + (report_rank == 0));
  MPI_Datatype type = blocks(6, three, shifts);
  TRY(ncmpi_put_vard_all(ncid, record[0], type, values + 30 * (1 + report_rank), n, MPI_INT)), show_all();
  TRY(ncmpi_get_vard_all(ncid, record[0], type, seen, n, MPI_INT)), show_read(n);
  MPI_Type_free(&type);
  type = blocks(3, three, later);
  TRY(ncmpi_put_vard_all(ncid, record[0], type, values + 11, n / 2, MPI_INT)), show_all();
  TRY(ncmpi_get_vard_all(ncid, record[0], type, seen, n / 2, MPI_INT)), show_read(n / 2);
  MUST(ncmpi_begin_indep_data(ncid));
  if (report_rank == 0) {
    TRY(ncmpi_put_vard(ncid, record[0], type, values + 12, n / 2, MPI_INT));
    TRY(ncmpi_get_vard(ncid, record[0], type, seen, n / 2, MPI_INT)), show_read(n / 2);
    TRY(ncmpi_put_vard(ncid, record[0], MPI_FLOAT, values, 0, MPI_INT));
    TRY(ncmpi_put_vard(ncid, record[0], MPI_FLOAT, values, 1, MPI_INT));
  }
  MUST(ncmpi_end_indep_data(ncid));
  show_all();
  MPI_Type_free(&type);
  /* From a fixed-size variable into the existing records. */
  const int mixed[] = {fixed[1], record[1], record[0]};
  const MPI_Aint beyond[] = {0, 0, r};
  type = blocks(3, mixed, beyond);
  TRY(ncmpi_put_vard_all(ncid, fixed[1], type, values + 17, 3 * NY * NX, MPI_INT)), show_all();
  TRY(ncmpi_get_vard_all(ncid, fixed[1], type, seen, 3 * NY * NX, MPI_INT)), show_read(3 * NY * NX);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  for (int i = 0; i < 1024; ++i) values[i] = i + 10000 * report_rank;
  const int formats[] = {0, NC_64BIT_DATA};
  const char* const names[] = {"across1.nc", "across5.nc"};
  for (int i = 0; i < 2; ++i) {
    define(names[i], formats[i]);
    fixed_variables();
    record_variables();
    MUST(ncmpi_close(ncid));
    MUST(ncmpi_open(MPI_COMM_WORLD, names[i], NC_WRITE, MPI_INFO_NULL, &ncid));
    record_variables();
    MUST(ncmpi_close(ncid));
  }
  return report_end();
}
