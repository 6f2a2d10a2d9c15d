/* E3SM's F case: hundreds of variables by three decompositions of many small pieces. They are written with
 * nonblocking lists and one wait, twice. Another open writes a third record.
 *   f_case write FILE MAP        the ranks share the 16 parts of the map
 *   f_case compare FILE OTHER    element by element
 * MAP is map_f_case_16p.nc of E3SM's I/O benchmark, or - for an artificial map of the same shape. */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 72, COLUMNS = 866, PARTS = 16, VARIABLES = 387 };
static int rank, ranks;

static void must(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, what, ncmpi_strerror(status), sluice_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) must(call, #call)

/* The pieces of a decomposition that this rank has. */
typedef struct {
  int count;
  MPI_Offset elements;
  MPI_Offset* numbers; /* start and count of each piece, three dimensions at most */
  MPI_Offset **starts, **counts;
} Pieces;

static int* read_ints(int ncid, const char* name, MPI_Offset* length) {
  int id, dim;
  MUST(ncmpi_inq_varid(ncid, name, &id));
  MUST(ncmpi_inq_vardimid(ncid, id, &dim));
  MUST(ncmpi_inq_dimlen(ncid, dim, length));
  int* values = malloc(sizeof(int) * (size_t)*length);
  MUST(ncmpi_get_var_int_all(ncid, id, values));
  return values;
}

/* Number of pieces of each part, and all pieces. */
static void read_map(const char* path, int map, int** parts, int** offsets, int** lengths) {
  char name[32];
  MPI_Offset length;
  int ncid;
  MUST(ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &ncid));
  snprintf(name, sizeof name, "D%d.nreqs", map);
  *parts = read_ints(ncid, name, &length);
  snprintf(name, sizeof name, "D%d.offsets", map);
  *offsets = read_ints(ncid, name, &length);
  snprintf(name, sizeof name, "D%d.lengths", map);
  *lengths = read_ints(ncid, name, &length);
  MUST(ncmpi_close(ncid));
}

/* Columns of a part are those whose number times 7, modulo 16, is the part's; in runs of 9 for map 1. */
static void make_map(int map, int** parts, int** offsets, int** lengths) {
  const int levels = map == 3 ? LEVELS : 1, run = map == 1 ? 9 : 1;
  *parts = calloc(PARTS, sizeof(int));
  *offsets = malloc(sizeof(int) * LEVELS * COLUMNS);
  *lengths = malloc(sizeof(int) * LEVELS * COLUMNS);
  int at = 0;
  for (int part = 0; part < PARTS; ++part) {
    for (int level = 0; level < levels; ++level) {
      for (int first = 0; first < COLUMNS; first += run) {
        if (first / run * 7 % PARTS != part) continue;
        (*offsets)[at] = level * COLUMNS + first;
        (*lengths)[at++] = first + run <= COLUMNS ? run : COLUMNS - first;
        ++(*parts)[part];
      }
    }
  }
}

static Pieces pieces_of(const char* path, int map, int dimensions) {
  int *parts, *offsets, *lengths;
  if (strcmp(path, "-") == 0)
    make_map(map, &parts, &offsets, &lengths);
  else
    read_map(path, map, &parts, &offsets, &lengths);
  Pieces pieces = {0, 0, NULL, NULL, NULL};
  int at = 0, total = 0;
  for (int part = 0; part < PARTS; ++part) total += parts[part];
  pieces.numbers = calloc((size_t)total * 6, sizeof(MPI_Offset));
  pieces.starts = calloc((size_t)total, sizeof(MPI_Offset*));
  pieces.counts = calloc((size_t)total, sizeof(MPI_Offset*));
  for (int part = 0; part < PARTS; ++part) {
    for (int i = 0; i < parts[part]; ++i, ++at) {
      if (part * ranks / PARTS != rank) continue;
      MPI_Offset* const start = pieces.numbers + 6 * pieces.count;
      MPI_Offset* const count = start + 3;
      const MPI_Offset all_start[3] = {0, offsets[at] / COLUMNS, offsets[at] % COLUMNS};
      const MPI_Offset all_count[3] = {1, 1, lengths[at]};
      for (int d = 0; d < dimensions; ++d) {
        /* time, lev, ncol; time, ncol; ncol */
        const int from = dimensions == 3 ? d : d + 1 == dimensions ? 2 : 0;
        start[d] = all_start[from];
        count[d] = all_count[from];
      }
      pieces.starts[pieces.count] = start;
      pieces.counts[pieces.count++] = count;
      pieces.elements += lengths[at];
    }
  }
  free(parts), free(offsets), free(lengths);
  return pieces;
}

/* Which kind a variable is: fixed (ncol) by map 1, (time, ncol) by map 2, (time, lev, ncol) by map 3. */
static int kind_of(int variable) {
  return variable % 29 == 0 ? 0 : variable % 6 == 1 ? 2 : 1;
}

static void define(int ncid) {
  int dims[3], few, id;
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, dims));
  MUST(ncmpi_def_dim(ncid, "nbnd", 2, &few));
  MUST(ncmpi_def_dim(ncid, "lev", LEVELS, dims + 1));
  MUST(ncmpi_def_dim(ncid, "ncol", COLUMNS, dims + 2));
  const int flat[2] = {dims[0], dims[2]}, bounds[2] = {dims[0], few};
  for (int v = 0; v < VARIABLES; ++v) {
    char name[16];
    snprintf(name, sizeof name, "v%d", v);
    const int kind = kind_of(v);
    const nc_type type = kind == 0 ? NC_DOUBLE : NC_FLOAT;
    MUST(ncmpi_def_var(ncid, name, type, kind + 1, kind == 0 ? dims + 2 : kind == 1 ? flat : dims, &id));
    MUST(ncmpi_put_att_text(ncid, id, "units", 1, "m"));
  }
  MUST(ncmpi_def_var(ncid, "time_bnds", NC_DOUBLE, 2, bounds, &id));
  MUST(ncmpi_def_var(ncid, "P0", NC_DOUBLE, 0, NULL, &id));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "case", 1, "F"));
}

/* One record of everything; with the first record, what has no records, too. */
static void write_record(int ncid, Pieces* pieces, int record) {
  float* values[VARIABLES];
  int requests[VARIABLES + 2], statuses[VARIABLES + 2], posted = 0;
  for (int kind = 1; kind < 3; ++kind) {
    for (int i = 0; i < pieces[kind].count; ++i) pieces[kind].starts[i][0] = record;
  }
  for (int v = 0; v < VARIABLES; ++v) {
    const Pieces* const mine = &pieces[kind_of(v)];
    values[v] = malloc(sizeof(float) * (size_t)(mine->elements + 1));
    for (MPI_Offset i = 0; i < mine->elements; ++i)
      values[v][i] = (float)(v * 100000 + record * 7000 + rank * 4000 + i % 4000);
    if (kind_of(v) == 0 && record > 0) continue;
    MUST(ncmpi_iput_varn_float(ncid, v, mine->count, mine->starts, mine->counts, values[v],
                               &requests[posted++]));
  }
  const MPI_Offset start[2] = {record, 0}, count[2] = {1, 2};
  const double bounds[2] = {record, record + 1}, pressure = 1e5;
  if (rank == 0) MUST(ncmpi_iput_vara_double(ncid, VARIABLES, start, count, bounds, &requests[posted++]));
  if (rank == 0 && record == 0)
    MUST(ncmpi_iput_var_double(ncid, VARIABLES + 1, &pressure, &requests[posted++]));
  MUST(ncmpi_wait_all(ncid, posted, requests, statuses));
  for (int i = 0; i < posted; ++i) must(statuses[i], "a request");
  for (int v = 0; v < VARIABLES; ++v) free(values[v]);
}

static void write_file(const char* path, const char* map) {
  int ncid;
  Pieces pieces[3];
  for (int kind = 0; kind < 3; ++kind) pieces[kind] = pieces_of(map, kind + 1, kind + 1);
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
  define(ncid);
  MUST(ncmpi_enddef(ncid));
  write_record(ncid, pieces, 0);
  write_record(ncid, pieces, 1);
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  write_record(ncid, pieces, 2);
  MUST(ncmpi_close(ncid));
  for (int kind = 0; kind < 3; ++kind)
    free(pieces[kind].numbers), free(pieces[kind].starts), free(pieces[kind].counts);
}

static int compare(const char* path, const char* other) {
  enum { MOST = 3 * LEVELS * COLUMNS };
  static double values[2][MOST];
  int ncids[2], variables[2], different = 0;
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &ncids[0]));
  MUST(ncmpi_open(MPI_COMM_WORLD, other, NC_NOWRITE, MPI_INFO_NULL, &ncids[1]));
  for (int f = 0; f < 2; ++f) MUST(ncmpi_inq_nvars(ncids[f], &variables[f]));
  if (variables[0] != VARIABLES + 2 || variables[1] != VARIABLES + 2) ++different;
  for (int v = 0; v < VARIABLES + 2; ++v) {
    for (int f = 0; f < 2; ++f) {
      memset(values[f], 0xEE, sizeof values[f]);
      MUST(ncmpi_get_var_double_all(ncids[f], v, values[f]));
    }
    if (memcmp(values[0], values[1], sizeof values[0]) != 0) {
      ++different;
      if (rank == 0) fprintf(stderr, "variable %d of %s is another in %s\n", v, path, other);
    }
  }
  for (int f = 0; f < 2; ++f) MUST(ncmpi_close(ncids[f]));
  return different;
}

int main(int argc, char** argv) {
  int result = 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 4 && strcmp(argv[1], "write") == 0) write_file(argv[2], argv[3]), result = 0;
  if (argc == 4 && strcmp(argv[1], "compare") == 0) result = compare(argv[2], argv[3]) != 0;
  MPI_Finalize();
  return result;
}
