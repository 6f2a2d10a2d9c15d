/* netcdf_group write|live|types|read NAME: ranks that have one dataset together, by netCDF-C's parallel
 * interface. Each rank notes what its calls returned and gave in write.RANK or read.RANK: the same is
 * expected on disk and in a run. With "live", the writer waits behind each record for a file seenN. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { part = 60, records = 3 };

static int rank, ranks, id, is_live;
static FILE* notes;

static void tell(const char* what, int status) {
  fprintf(notes, "%s: %d\n", what, status);
}

static void tell_lengths(void) {
  size_t length = 0;
  tell("dimlen t", nc_inq_dimlen(id, 0, &length));
  fprintf(notes, "  %zu records\n", length);
}

static double value(int record, size_t i) {
  return 1000 * record + (double)i / 4;
}

static void define(void) {
  int dims[2], v, w, s, group, g;
  const char* const text = "a string";
  tell("def_dim", nc_def_dim(id, "t", NC_UNLIMITED, &dims[0]));
  tell("def_dim", nc_def_dim(id, "x", (size_t)ranks * part, &dims[1]));
  tell("def_var", nc_def_var(id, "v", NC_DOUBLE, 2, dims, &v));
  tell("def_var", nc_def_var(id, "w", NC_INT, 1, &dims[1], &w));
  tell("def_var", nc_def_var(id, "s", NC_SHORT, 0, NULL, &s));
  tell("def_var", nc_def_var(id, "r", NC_INT, 1, dims, &s));
  tell("put_att", nc_put_att_text(id, v, "units", 1, "m"));
  tell("put_att", nc_put_att_string(id, NC_GLOBAL, "title", 1, (const char**)&text));
  tell("def_grp", nc_def_grp(id, "group", &group));
  tell("def_var", nc_def_var(group, "g", NC_FLOAT, 1, &dims[1], &g));
  tell("def_var again", nc_def_var(id, "w", NC_INT, 0, NULL, &w));
  tell("enddef", nc_enddef(id));
}

static void wait_for_reader(int record) {
  char name[32];
  snprintf(name, sizeof name, "seen%d", record);
  while (is_live && rank == 0 && access(name, F_OK) != 0) usleep(10000);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void put_records(int v) {
  double values[part];
  for (int record = 0; record < records; ++record) {
    const size_t start[] = {(size_t)record, (size_t)rank * part}, count[] = {1, part};
    for (size_t i = 0; i < part; ++i) values[i] = value(record, start[1] + i);
    tell("put_vara", nc_put_vara_double(id, v, start, count, values));
    tell_lengths();
    tell("sync", nc_sync(id));
    wait_for_reader(record);
  }
  /* A rank without elements takes part in a collective put. */
  const size_t start[] = {records, 0}, count[] = {1, rank == 0 ? part : 0};
  tell("put_vara of one", nc_put_vara_double(id, v, start, count, values));
  tell_lengths();
}

static void write_file(const char* name) {
  tell("create_par", is_live
                         ? nc_create_par_fortran(name, NC_NETCDF4 | NC_CLOBBER, MPI_Comm_c2f(MPI_COMM_WORLD),
                                                 MPI_Info_c2f(MPI_INFO_NULL), &id)
                         : nc_create_par(name, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
  define();
  int group = -1, numbers[part];
  tell("par_access", nc_var_par_access(id, 0, NC_COLLECTIVE));
  tell("par_access of none", nc_var_par_access(id, 17, NC_COLLECTIVE));
  tell("par_access 2", nc_var_par_access(id, 0, 2));
  put_records(0);
  for (int i = 0; i < part; ++i) numbers[i] = rank * part + i;
  const size_t begin = (size_t)rank * part, count = part, beyond = (size_t)ranks * part - 1;
  if (rank % 2 == 0) tell("put_vara", nc_put_vara_int(id, 1, &begin, &count, numbers)); /* independent */
  tell("put_vara beyond", nc_put_vara_int(id, 1, &beyond, &count, numbers));
  const size_t late = records + 3, one = 1;
  tell("put_vara that extends alone", nc_put_vara_int(id, 3, &late, &one, numbers));
  if (rank == ranks - 1) tell("put_var", nc_put_var_int(id, 2, numbers));
  tell("inq_ncid", nc_inq_ncid(id, "group", &group));
  tell("put of a group", nc_put_vara_int(group, 0, &begin, &count, numbers));
  tell_lengths();
  tell("close", nc_close(id));
}

struct point {
  int number;
  double place;
};

/* Values that each rank has in a shadow of its own, until all get them with the next collective call. */
static void write_types(const char* name) {
  nc_type opaque = 0, point = 0;
  int dims[2], o, p, g, s;
  struct point points[part];
  int numbers[2 * part];
  tell("create_par", nc_create_par(name, NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
  tell("def_dim", nc_def_dim(id, "x", (size_t)ranks * part, &dims[0]));
  tell("def_dim", nc_def_dim(id, "y", NC_UNLIMITED, &dims[1]));
  tell("def_opaque", nc_def_opaque(id, 4, "four", &opaque));
  tell("def_compound", nc_def_compound(id, sizeof(struct point), "point", &point));
  tell("insert", nc_insert_compound(id, point, "number", NC_COMPOUND_OFFSET(struct point, number), NC_INT));
  tell("insert", nc_insert_compound(id, point, "place", NC_COMPOUND_OFFSET(struct point, place), NC_DOUBLE));
  tell("def_var", nc_def_var(id, "o", opaque, 1, dims, &o));
  tell("def_var", nc_def_var(id, "p", point, 1, dims, &p));
  tell("def_var", nc_def_var(id, "g", NC_INT, 2, dims, &g));
  tell("def_var", nc_def_var(id, "s", NC_STRING, 0, NULL, &s));
  tell("enddef", nc_enddef(id));
  memset(points, 0, sizeof points);
  for (int i = 0; i < part; ++i) points[i] = (struct point){rank * part + i, i / 4.};
  for (int i = 0; i < 2 * part; ++i) numbers[i] = 1000 * rank + i;
  const size_t start[] = {(size_t)rank * part, 0}, count[] = {part, 2}, one = 1;
  tell("put_vara of points", nc_put_vara(id, p, start, count, points)); /* independent */
  tell("par_access", nc_var_par_access(id, o, NC_COLLECTIVE));
  if (rank == 0) tell("put of text", nc_put_vara(id, o, start, &one, "text"));
  if (rank != 0) tell("put of text", nc_put_vara(id, o, start, &one, "more"));
  tell("par_access", nc_var_par_access(id, g, NC_COLLECTIVE));
  tell("put_vara that grows", nc_put_vara_int(id, g, start, count, numbers));
  tell("sync", nc_sync(id));
  const size_t next[] = {(size_t)((rank + 1) % ranks) * part, 0};
  tell("get_vara of points", nc_get_vara(id, p, next, count, points));
  fprintf(notes, "  %d %g\n", points[part - 1].number, points[part - 1].place);
  tell("get_vara", nc_get_vara_int(id, g, next, count, numbers));
  fprintf(notes, "  %d\n", numbers[2 * part - 1]);
  const char* const text = "a string";
  tell("put_var of a string", nc_put_var_string(id, s, (const char**)&text));
  tell("put_vara once more", nc_put_vara_int(id, g, start, count, numbers));
  tell("close", nc_close(id));
}

static void tell_part(int group, int varid, const size_t* start, const size_t* count,
                      const ptrdiff_t* stride) {
  double values[4096] = {0};
  int rank_of_variable = 1;
  size_t elements = 1;
  nc_inq_varndims(group, varid, &rank_of_variable);
  for (int i = 0; i < rank_of_variable; ++i) elements *= count[i];
  tell("get_vars", nc_get_vars_double(group, varid, start, count, stride, values));
  for (size_t i = 0; i < elements && i < 4096; ++i) fprintf(notes, " %g", values[i]);
  fprintf(notes, "\n");
}

static void read_file(const char* name) {
  int variables = 0, attributes = 0, group = -1, number = -1;
  size_t length = 0;
  tell("open_par", nc_open_par(name, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
  tell("inq", nc_inq(id, NULL, &variables, &attributes, NULL));
  fprintf(notes, "  %d variables, %d attributes\n", variables, attributes);
  tell_lengths();
  tell("inq_dimlen", nc_inq_dimlen(id, 1, &length));
  const size_t own = length / (size_t)ranks, begin = (size_t)rank * own, all = length / 7;
  const ptrdiff_t seventh = 7, dense = 1;
  tell("par_access", nc_var_par_access(id, 0, NC_COLLECTIVE));
  for (size_t record = 0; record < records; ++record) {
    const size_t start[] = {record, begin}, count[] = {1, own};
    const ptrdiff_t stride[] = {1, 1};
    tell_part(id, 0, start, count, stride);
  }
  tell_part(id, 1, &begin, &own, &dense);
  const size_t zero = 0;
  if (rank == 0) tell_part(id, 1, &zero, &all, &seventh);
  tell("get_var1", nc_get_var1_int(id, 2, NULL, &number));
  fprintf(notes, "  %d\n", number);
  tell("inq_ncid", nc_inq_ncid(id, "group", &group));
  tell_part(group, 0, &begin, &own, &dense);
  tell("close", nc_close(id));
}

int main(int argc, char** argv) {
  char name[64];
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  snprintf(name, sizeof name, "%s.%d", argv[1], rank);
  notes = fopen(name, "w");
  if (notes == NULL) return 1;
  is_live = strcmp(argv[1], "live") == 0;
  if (strcmp(argv[1], "types") == 0) write_types(argv[2]);
  if (is_live || strcmp(argv[1], "write") == 0) write_file(argv[2]);
  if (strcmp(argv[1], "read") == 0) read_file(argv[2]);
  fclose(notes);
  MPI_Finalize();
  return 0;
}
