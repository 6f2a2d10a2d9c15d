/* Reads blob files as a program that knows E3SM's description of them, through a libpnetcdf that knows
 * nothing of blobs.
 *   blob_replay write FILE                 a dataset with every kind of variable
 *   blob_replay compare FILE OTHER         two datasets, element by element
 *   blob_replay replay FILE FILES OUT      its FILES blob files into one file in canonical order, with as
 *       many ranks as have written them
 * replay relies on these rules:
 * - The variables of all maps come first.
 * - A variable with global_dimids is decomposed; the others are unchanged.
 * - All blob files define the same variables. Those that are not decomposed are read from the first file.
 * - Each request of a list is one start and one count. */
#include "dataset_program.h"

enum { LEVELS = 3, COLUMNS = 10, BOUNDS = 2, MOST_DIMENSIONS = 4, MOST_MAPS = 6 };

/* Writing. */

/* Puts the elements of a box; each has its own value. */
static void put(int ncid, int id, int dimensions, const MPI_Offset* start, const MPI_Offset* count) {
  double values[LEVELS * COLUMNS * BOUNDS];
  MPI_Offset elements = 1, index[MOST_DIMENSIONS];
  for (int d = 0; d < dimensions; ++d) elements *= count[d];
  for (MPI_Offset i = 0; i < elements; ++i) {
    MPI_Offset rest = i;
    double value = id + 1;
    for (int d = dimensions - 1; d >= 0; rest /= count[d--]) index[d] = start[d] + rest % count[d];
    for (int d = 0; d < dimensions; ++d) value = value * 11 + (double)index[d];
    values[i] = value;
  }
  MUST(ncmpi_iput_vara_double(ncid, id, start, count, values, NULL));
  MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
}

/* Every ranks-th column of all levels, in one list. */
static void put_columns(int ncid, int id, MPI_Offset record) {
  MPI_Offset numbers[LEVELS * COLUMNS][6], *starts[LEVELS * COLUMNS], *counts[LEVELS * COLUMNS];
  double values[LEVELS * COLUMNS];
  int pieces = 0;
  for (int level = 0; level < LEVELS; ++level) {
    for (int column = rank; column < COLUMNS; column += ranks, ++pieces) {
      const MPI_Offset piece[6] = {record, level, column, 1, 1, 1};
      memcpy(numbers[pieces], piece, sizeof piece);
      starts[pieces] = numbers[pieces], counts[pieces] = numbers[pieces] + 3;
      values[pieces] = (((double)(id + 1) * 11 + (double)record) * 11 + level) * 11 + column;
    }
  }
  MUST(ncmpi_put_varn_double_all(ncid, id, pieces, starts, counts, values));
}

static void put_records(int ncid, const int* ids, MPI_Offset record) {
  const MPI_Offset first = LEVELS * rank / ranks, behind = LEVELS * (rank + 1) / ranks;
  /* Whole levels: runs that continue after the end of a row. */
  const MPI_Offset start[3] = {record, first, 0}, count[3] = {1, behind - first, COLUMNS};
  put(ncid, ids[0], 3, start, count);
  put_columns(ncid, ids[1], record);
  const MPI_Offset bounds[2] = {record, 0}, whole[2] = {rank == 0, BOUNDS};
  put(ncid, ids[2], 2, bounds, whole);
  put(ncid, ids[3], 1, &record, whole);
}

static void write_dataset(const char* path) {
  int ncid, dims[4], ids[4];
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "what"));
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, dims));
  MUST(ncmpi_def_dim(ncid, "lev", LEVELS, dims + 1));
  MUST(ncmpi_def_dim(ncid, "ncol", COLUMNS, dims + 2));
  MUST(ncmpi_def_dim(ncid, "nbnd", BOUNDS, dims + 3));
  const int bounds[2] = {dims[0], dims[3]}, cube[3] = {dims[3], dims[1], dims[2]};
  const int levels = add(ncid, "lev", NC_DOUBLE, 1, dims + 1);
  const int pressure = add(ncid, "P0", NC_DOUBLE, 0, NULL);
  const int area = add(ncid, "area", NC_DOUBLE, 1, dims + 2);
  ids[0] = add(ncid, "T", NC_FLOAT, 3, dims);
  ids[1] = add(ncid, "Q", NC_DOUBLE, 3, dims);
  ids[2] = add(ncid, "time_bnds", NC_DOUBLE, 2, bounds);
  ids[3] = add(ncid, "time", NC_INT, 1, dims);
  const int late = add(ncid, "late", NC_INT, 3, cube);
  MUST(ncmpi_enddef(ncid));
  const MPI_Offset zero[3] = {0}, one[3] = {rank == 0 ? LEVELS : 0};
  put(ncid, levels, 1, zero, one);
  put(ncid, pressure, 0, zero, zero);
  const MPI_Offset first = COLUMNS * rank / ranks, count = COLUMNS * (rank + 1) / ranks - first;
  put(ncid, area, 1, &first, &count);
  put_records(ncid, ids, 0);
  /* Another map, when the others have their places. */
  MUST(ncmpi_sync(ncid));
  const MPI_Offset box[3] = {0, 0, first}, size[3] = {BOUNDS, LEVELS, count};
  put(ncid, late, 3, box, size);
  put_records(ncid, ids, 1);
  MUST(ncmpi_close(ncid));
}

/* Replaying. */

typedef struct {
  int dimensions, requests;
  MPI_Offset lengths[MOST_DIMENSIONS], start, count;
  MPI_Offset **starts, **counts; /* with the record dimension first */
} Map;

static int part = 0; /* the blob that this rank reads, in its file */

static int integer_of(int ncid, int id, const char* name) {
  int value;
  MUST(ncmpi_get_att_int(ncid, id, name, &value));
  return value;
}

static int map_variable(int ncid, int map, const char* name) {
  char full[64];
  int id;
  snprintf(full, sizeof full, "D%d.%s", map + 1, name);
  MUST(ncmpi_inq_varid(ncid, full, &id));
  return id;
}

static Map read_map(int ncid, int which) {
  Map map;
  MPI_Offset dimensions, at[2] = {part, 0}, count[2] = {1, 0};
  int dimids[MOST_DIMENSIONS];
  const int id = map_variable(ncid, which, "nreqs");
  MUST(ncmpi_inq_attlen(ncid, id, "global_dimids", &dimensions));
  MUST(ncmpi_get_att_int(ncid, id, "global_dimids", dimids));
  map.dimensions = (int)dimensions;
  for (int d = 0; d < map.dimensions; ++d) MUST(ncmpi_inq_dimlen(ncid, dimids[d], map.lengths + d));
  MUST(ncmpi_get_var1_int_all(ncid, id, at, &map.requests));
  long long start, elements;
  MUST(ncmpi_get_var1_longlong_all(ncid, map_variable(ncid, which, "blob_start"), at, &start));
  MUST(ncmpi_get_var1_longlong_all(ncid, map_variable(ncid, which, "blob_count"), at, &elements));
  map.start = start, map.count = elements;
  count[1] = map.requests;
  const size_t requests = (size_t)map.requests;
  int* numbers = malloc((requests * 2 + 1) * sizeof(int));
  MUST(ncmpi_get_vara_int_all(ncid, map_variable(ncid, which, "offsets"), at, count, numbers));
  MUST(ncmpi_get_vara_int_all(ncid, map_variable(ncid, which, "lengths"), at, count, numbers + requests));
  map.starts = malloc((requests * 2 + 1) * sizeof(MPI_Offset*));
  map.counts = map.starts + requests;
  for (size_t i = 0; i < requests; ++i) {
    map.starts[i] = calloc(2 * MOST_DIMENSIONS, sizeof(MPI_Offset));
    map.counts[i] = map.starts[i] + MOST_DIMENSIONS;
    MPI_Offset rest = numbers[i];
    for (int d = map.dimensions; d > 0; rest /= map.lengths[--d]) {
      map.starts[i][d] = rest % map.lengths[d - 1];
      map.counts[i][d] = d == map.dimensions ? numbers[requests + i] : 1;
    }
    map.counts[i][0] = 1;
  }
  free(numbers);
  return map;
}

static int ends_with(const char* name, const char* end) {
  const size_t length = strlen(name), at = strlen(end);
  return length >= at && strcmp(name + length - at, end) == 0;
}

static void copy_dimensions(int in, int out) {
  char name[NC_MAX_NAME + 1];
  MPI_Offset length;
  int count, record, id;
  MUST(ncmpi_inq_ndims(in, &count));
  MUST(ncmpi_inq_unlimdim(in, &record));
  for (int i = 0; i < count; ++i) {
    MUST(ncmpi_inq_dim(in, i, name, &length));
    if (strcmp(name, "nblobs") == 0 || ends_with(name, ".nelems") || ends_with(name, ".max_nreqs")) continue;
    MUST(ncmpi_def_dim(out, name, i == record ? NC_UNLIMITED : length, &id));
  }
}

static void copy_attributes(int in, int from, int out, int to) {
  static const char* const own[] = {"global_nprocs", "num_decompositions", "num_subfiles", "decomposition_ID",
                                    "global_dimids"};
  char name[NC_MAX_NAME + 1];
  int count;
  MUST(ncmpi_inq_varnatts(in, from, &count));
  for (int i = 0; i < count; ++i) {
    int is_own = 0;
    MUST(ncmpi_inq_attname(in, from, i, name));
    for (int k = 0; k < 5; ++k) is_own |= strcmp(name, own[k]) == 0;
    if (!is_own) MUST(ncmpi_copy_att(in, from, name, out, to));
  }
}

typedef struct {
  int from, to, map, dimensions, is_record; /* the map; -1: not decomposed */
  MPI_Offset shape[MOST_DIMENSIONS];        /* of one record */
} Variable;

static Variable define(int in, int id, int out, int record) {
  Variable variable = {id, 0, -1, 0, 0, {0}};
  char name[NC_MAX_NAME + 1];
  int dimids[MOST_DIMENSIONS];
  MPI_Offset length;
  nc_type type;
  MUST(ncmpi_inq_var(in, id, name, &type, &variable.dimensions, dimids, NULL));
  if (ncmpi_inq_attlen(in, id, "global_dimids", &length) == NC_NOERR) {
    variable.dimensions = (int)length;
    MUST(ncmpi_get_att_int(in, id, "global_dimids", dimids));
    variable.map = integer_of(in, id, "decomposition_ID") - 1;
    if (variable.map < 0) must(NC_EINVAL, "global_dimids of what is not decomposed");
  }
  MUST(ncmpi_def_var(out, name, type, variable.dimensions, dimids, &variable.to));
  copy_attributes(in, id, out, variable.to);
  variable.is_record = variable.dimensions > 0 && dimids[0] == record;
  for (int d = 0; d < variable.dimensions; ++d) MUST(ncmpi_inq_dimlen(in, dimids[d], variable.shape + d));
  if (variable.is_record) variable.shape[0] = 1;
  return variable;
}

/* In the variable's type, which may be text. */
static void copy_data(int in, int out, const Variable* variable, const Map* maps, MPI_Offset record) {
  size_t bytes = sizeof(double);
  for (int d = 0; d < variable->dimensions; ++d) bytes *= (size_t)variable->shape[d];
  void* const values = malloc(bytes);
  if (variable->map < 0) {
    const MPI_Offset start[MOST_DIMENSIONS] = {record}, nothing[MOST_DIMENSIONS] = {0};
    const MPI_Offset* count = rank == 0 ? variable->shape : nothing;
    MUST(ncmpi_get_vara_all(in, variable->from, start, count, values, 0, MPI_DATATYPE_NULL));
    MUST(ncmpi_put_vara_all(out, variable->to, start, variable->dimensions == 0 ? start : count, values, 0,
                            MPI_DATATYPE_NULL));
    free(values);
    return;
  }
  const Map* map = maps + variable->map;
  const MPI_Offset start[2] = {record, map->start}, count[2] = {1, map->count};
  const int skipped = variable->is_record ? 0 : 1;
  MUST(
      ncmpi_get_vara_all(in, variable->from, start + skipped, count + skipped, values, 0, MPI_DATATYPE_NULL));
  MPI_Offset** starts = malloc((size_t)(2 * map->requests + 1) * sizeof(MPI_Offset*));
  MPI_Offset** counts = starts + map->requests;
  for (int i = 0; i < map->requests; ++i) {
    map->starts[i][0] = record;
    starts[i] = map->starts[i] + skipped;
    counts[i] = map->counts[i] + skipped;
  }
  MUST(ncmpi_put_varn_all(out, variable->to, map->requests, starts, counts, values, 0, MPI_DATATYPE_NULL));
  free(starts);
  free(values);
}

static void replay(const char* base, int files, const char* path) {
  char name[1024];
  const int file = rank * files / ranks;
  int in, out, variables, record;
  MPI_Offset records;
  MPI_Comm group;
  MPI_Comm_split(MPI_COMM_WORLD, file, rank, &group);
  MPI_Comm_rank(group, &part);
  snprintf(name, sizeof name, "%s.%04d", base, file);
  MUST(ncmpi_open(group, name, NC_NOWRITE, MPI_INFO_NULL, &in));
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &out));
  if (integer_of(in, NC_GLOBAL, "num_subfiles") != files ||
      integer_of(in, NC_GLOBAL, "global_nprocs") != ranks)
    must(NC_EINVAL, "another number of files or processes");
  Map maps[MOST_MAPS];
  const int map_count = integer_of(in, NC_GLOBAL, "num_decompositions");
  for (int i = 0; i < map_count; ++i) maps[i] = read_map(in, i);
  copy_dimensions(in, out);
  copy_attributes(in, NC_GLOBAL, out, NC_GLOBAL);
  MUST(ncmpi_inq_unlimdim(in, &record));
  MUST(ncmpi_inq_dimlen(in, record, &records));
  MUST(ncmpi_inq_nvars(in, &variables));
  Variable* all = malloc((size_t)variables * sizeof(Variable));
  for (int id = 5 * map_count; id < variables; ++id) all[id] = define(in, id, out, record);
  MUST(ncmpi_enddef(out));
  for (int id = 5 * map_count; id < variables; ++id) {
    for (MPI_Offset i = 0; i < (all[id].is_record ? records : 1); ++i) copy_data(in, out, all + id, maps, i);
  }
  MUST(ncmpi_close(in));
  MUST(ncmpi_close(out));
  MPI_Comm_free(&group);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 3 && strcmp(argv[1], "write") == 0) write_dataset(argv[2]);
  if (argc == 4 && strcmp(argv[1], "compare") == 0) compare(argv[2], argv[3], 1);
  if (argc == 5 && strcmp(argv[1], "replay") == 0) replay(argv[2], atoi(argv[3]), argv[4]);
  MPI_Finalize();
  return 0;
}
