/* A dataset as E3SM's land component writes it. Each process has some land elements of a grid; no process
 * has the ocean. Variables have two dimensions of the same length.
 *   land write FILE LAND     LAND: lines "process offset length" of the elements of the grid
 *   land plain FILE LAND     the same, after zeros everywhere: MPI-IO may leave anything in the gaps
 *   land fill FILE           opens it for writing, and puts a whole record of one variable, with the ocean
 *   land compare FILE OTHER  two datasets, element by element; each rank compares all elements */
#include "dataset_program.h"

enum { LONGITUDES = 144, LATITUDES = 96, LEVELS = 15, GRID = LONGITUDES * LATITUDES, RECORDS = 2 };
enum { MOST_PIECES = GRID };
/* This rank's pieces of the grid. */
static struct { int offset, length; } pieces[MOST_PIECES];
static int piece_count = 0;

static void read_pieces(const char* path) {
  FILE* const file = fopen(path, "r");
  int process, offset, length;
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  while (fscanf(file, "%d %d %d", &process, &offset, &length) == 3) {
    if (process % ranks != rank) continue;
    pieces[piece_count].offset = offset;
    pieces[piece_count++].length = length;
  }
  fclose(file);
}

/* Exact in all number types. */
static double value(int id, MPI_Offset record, MPI_Offset element) {
  return (double)((id + 1) * 1000000 + record * 300000 + element);
}

/* Rank 0 puts everything: `elements` of a record, or of the variable if `record` is negative. */
static void put_whole(int ncid, int id, int record, int elements) {
  double values[GRID];
  const MPI_Offset start[2] = {record, 0}, count[2] = {rank == 0, rank == 0 ? elements : 0};
  const int skipped = record < 0;
  for (int i = 0; i < elements; ++i) values[i] = value(id, record < 0 ? 0 : record, i);
  MUST(ncmpi_iput_vara_double(ncid, id, start + skipped, count + skipped, values, NULL));
}

static void put_text(int ncid, int id, int record) {
  char text[16];
  const MPI_Offset start[2] = {record, 0}, count[2] = {rank == 0, rank == 0 ? 16 : 0};
  memset(text, 'a' + record, sizeof text);
  MUST(ncmpi_iput_vara_text(ncid, id, start, count, text, NULL));
}

/* Puts zeros into a variable over the grid. */
static void put_zeros(int ncid, int id, int has_records, int levels) {
  const MPI_Offset start[4] = {0}, count[4] = {RECORDS, levels, LATITUDES, LONGITUDES},
                   flat[3] = {RECORDS, LATITUDES, LONGITUDES};
  double* const zeros = calloc((size_t)RECORDS * (size_t)levels * GRID, sizeof(double));
  const MPI_Offset* const size = (levels > 1 ? count : flat) + !has_records;
  MUST(ncmpi_put_vara_double_all(ncid, id, start, size, zeros));
  free(zeros);
}

/* Puts this rank's land on all levels; with `levels` 0, on the grid alone. `values` must live until the
 * wait. */
static double* put_land(int ncid, int id, int record, int levels) {
  const int dimensions = 2 + (levels > 0) + (record >= 0), all = levels > 0 ? levels : 1;
  const size_t count = (size_t)(all * piece_count), width = (size_t)dimensions;
  MPI_Offset* const numbers = malloc((2 * count * width + 1) * sizeof(MPI_Offset));
  MPI_Offset** const starts = malloc((2 * count + 1) * sizeof(MPI_Offset*));
  double *const values = malloc((size_t)(all * GRID + 1) * sizeof(double)), *next = values;
  for (size_t i = 0; i < count; ++i) {
    const int level = (int)i / piece_count, offset = pieces[(int)i % piece_count].offset,
              length = pieces[(int)i % piece_count].length;
    MPI_Offset *start = starts[i] = numbers + 2 * i * width,
               *size = starts[count + i] = numbers + (2 * i + 1) * width;
    if (record >= 0) *start++ = record, *size++ = 1;
    if (levels > 0) *start++ = level, *size++ = 1;
    start[0] = offset / LONGITUDES, size[0] = 1;
    start[1] = offset % LONGITUDES, size[1] = length;
    for (int k = 0; k < length; ++k) *next++ = value(id, record < 0 ? 0 : record, level * GRID + offset + k);
  }
  MUST(ncmpi_iput_varn_double(ncid, id, (int)count, starts, starts + count, values, NULL));
  free(starts);
  free(numbers);
  return values;
}

static void write_dataset(const char* path, int is_zeroed) {
  int ncid, dims[7], ids[14];
  double* values[12];
  int used = 0;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_put_att_text(ncid, NC_GLOBAL, "title", 4, "what"));
  MUST(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, dims));
  MUST(ncmpi_def_dim(ncid, "lon", LONGITUDES, dims + 1));
  MUST(ncmpi_def_dim(ncid, "lat", LATITUDES, dims + 2));
  MUST(ncmpi_def_dim(ncid, "levgrnd", LEVELS, dims + 3));
  MUST(ncmpi_def_dim(ncid, "levdcmp", LEVELS, dims + 4));
  MUST(ncmpi_def_dim(ncid, "string_length", 16, dims + 5));
  MUST(ncmpi_def_dim(ncid, "hist_interval", 2, dims + 6));
  const int grid[3] = {dims[0], dims[2], dims[1]}, ground[4] = {dims[0], dims[3], dims[2], dims[1]},
            soil[4] = {dims[0], dims[4], dims[2], dims[1]}, text[2] = {dims[0], dims[5]},
            bounds[2] = {dims[0], dims[6]};
  ids[0] = add(ncid, "levgrnd", NC_FLOAT, 1, dims + 3);
  ids[1] = add(ncid, "levdcmp", NC_FLOAT, 1, dims + 4);
  ids[2] = add(ncid, "time", NC_FLOAT, 1, dims);
  ids[3] = add(ncid, "mcdate", NC_INT, 1, dims);
  ids[4] = add(ncid, "time_bounds", NC_DOUBLE, 2, bounds);
  ids[5] = add(ncid, "date_written", NC_CHAR, 2, text);
  ids[6] = add(ncid, "lon", NC_FLOAT, 1, dims + 1);
  ids[7] = add(ncid, "area", NC_FLOAT, 2, grid + 1);
  ids[8] = add(ncid, "landmask", NC_INT, 2, grid + 1);
  ids[9] = add(ncid, "ZSOI", NC_FLOAT, 3, ground + 1);
  ids[10] = add(ncid, "TSA", NC_FLOAT, 3, grid);
  ids[11] = add(ncid, "TSOI", NC_DOUBLE, 4, ground);
  ids[12] = add(ncid, "SOILC", NC_FLOAT, 4, soil);
  ids[13] = add(ncid, "depth", NC_FLOAT, 3, soil + 1);
  MUST(ncmpi_enddef(ncid));
  for (int id = 7; is_zeroed && id < 14; ++id)
    put_zeros(ncid, ids[id], id >= 10 && id <= 12, id == 9 || id > 10 ? LEVELS : 1);
  for (int record = 0; record < RECORDS; ++record) {
    if (record == 0) {
      put_whole(ncid, ids[0], -1, LEVELS);
      put_whole(ncid, ids[1], -1, LEVELS);
      put_whole(ncid, ids[6], -1, LONGITUDES);
    }
    put_whole(ncid, ids[2], record, 1);
    put_whole(ncid, ids[3], record, 1);
    put_whole(ncid, ids[4], record, 2);
    put_text(ncid, ids[5], record);
    if (record == 0) {
      values[used++] = put_land(ncid, ids[7], -1, 0);
      values[used++] = put_land(ncid, ids[8], -1, 0);
      values[used++] = put_land(ncid, ids[9], -1, LEVELS);
    }
    values[used++] = put_land(ncid, ids[10], record, 0);
    values[used++] = put_land(ncid, ids[11], record, LEVELS);
    values[used++] = put_land(ncid, ids[12], record, LEVELS);
    if (record == 0) values[used++] = put_land(ncid, ids[13], -1, LEVELS);
    MUST(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
    while (used > 0) free(values[--used]);
  }
  MUST(ncmpi_close(ncid));
}

static void fill(const char* path) {
  int ncid, id;
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_inq_varid(ncid, "SOILC", &id));
  const int first = LATITUDES * rank / ranks, behind = LATITUDES * (rank + 1) / ranks;
  const MPI_Offset start[4] = {1, 0, first, 0}, count[4] = {1, LEVELS, behind - first, LONGITUDES};
  float* const values = malloc(sizeof(float) * GRID * LEVELS);
  for (int i = 0; i < GRID * LEVELS; ++i) values[i] = (float)(rank * 1000 + i % 777);
  MUST(ncmpi_put_vara_float_all(ncid, id, start, count, values));
  free(values);
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 4 && (strcmp(argv[1], "write") == 0 || strcmp(argv[1], "plain") == 0)) {
    read_pieces(argv[3]);
    write_dataset(argv[2], strcmp(argv[1], "plain") == 0);
  }
  if (argc == 3 && strcmp(argv[1], "fill") == 0) fill(argv[2]);
  if (argc == 4 && strcmp(argv[1], "compare") == 0) compare(argv[2], argv[3], 0);
  MPI_Finalize();
  return 0;
}
