/* Cases about puts and gets: blocks, holes, strides, types, lists. */
#include "check.h"

enum { ROWS = 12, COLUMNS = 20 };
static double cell(MPI_Offset row, MPI_Offset column) {
  return (double)(1000 * row + column);
}

/* A two-dimensional variable, written in blocks of 2 x (ranks/2) */
static void write_blocks(int ncid, int id) {
  const int parts_x = ranks % 2 == 0 ? 2 : 1, parts_y = ranks / parts_x;
  const MPI_Offset start[2] = {part_begin(ROWS, rank / parts_x, parts_y),
                               part_begin(COLUMNS, rank % parts_x, parts_x)};
  const MPI_Offset count[2] = {part_begin(ROWS, rank / parts_x + 1, parts_y) - start[0],
                               part_begin(COLUMNS, rank % parts_x + 1, parts_x) - start[1]};
  double values[ROWS * COLUMNS];
  for (MPI_Offset j = 0; j < count[0]; ++j)
    for (MPI_Offset i = 0; i < count[1]; ++i) values[j * count[1] + i] = cell(start[0] + j, start[1] + i);
  OK(ncmpi_put_vara_double_all(ncid, id, start, count, values));
  for (int k = 0; k < ROWS * COLUMNS; ++k)
    values[k] = -1; /* the put has copied the values, so the buffer is free again */
}

static int define_grid(int ncid, nc_type type) {
  int dims[2], id;
  OK(ncmpi_def_dim(ncid, "row", ROWS, &dims[0]));
  OK(ncmpi_def_dim(ncid, "column", COLUMNS, &dims[1]));
  OK(ncmpi_def_var(ncid, "v", type, 2, dims, &id));
  return id;
}

static void crossing_writer(void) {
  const int ncid = create_file("case.nc", 0), id = define_grid(ncid, NC_DOUBLE);
  OK(ncmpi_enddef(ncid));
  write_blocks(ncid, id);
  OK(ncmpi_close(ncid));
}
static void crossing_reader(void) { /* and read in boxes that cross all blocks, and in columns */
  const int ncid = open_file("case.nc", NC_NOWRITE), id = variable_of(ncid, "v");
  const MPI_Offset boxes[3][4] = {{1, 3, 10, 14}, {0, rank, ROWS, 1}, {rank % ROWS, 0, 1, COLUMNS}};
  for (int b = 0; b < 3; ++b) {
    double values[ROWS * COLUMNS];
    OK(ncmpi_get_vara_double_all(ncid, id, boxes[b], boxes[b] + 2, values));
    for (MPI_Offset j = 0; j < boxes[b][2]; ++j)
      for (MPI_Offset i = 0; i < boxes[b][3]; ++i)
        EQUAL(values[j * boxes[b][3] + i], cell(boxes[b][0] + j, boxes[b][1] + i));
  }
  OK(ncmpi_close(ncid));
}

static void holes_writer(void) { /* only every third row is written, by rank 0 */
  const int ncid = create_file("case.nc", 0), id = define_grid(ncid, NC_FLOAT);
  int own_fill;
  const int dims[2] = {0, 1};
  const float fill = -7;
  OK(ncmpi_def_var(ncid, "own_fill", NC_FLOAT, 2, dims, &own_fill));
  OK(ncmpi_put_att_float(ncid, own_fill, "_FillValue", NC_FLOAT, 1, &fill));
  OK(ncmpi_set_fill(ncid, NC_FILL, NULL));
  OK(ncmpi_enddef(ncid));
  for (MPI_Offset row = 0; row < ROWS; row += 3) {
    const MPI_Offset start[2] = {row, 0}, count[2] = {rank == 0 ? 1 : 0, rank == 0 ? COLUMNS : 0};
    float values[COLUMNS];
    for (int i = 0; i < COLUMNS; ++i) values[i] = (float)cell(row, i);
    OK(ncmpi_put_vara_float_all(ncid, id, start, count, values));
    OK(ncmpi_put_vara_float_all(ncid, own_fill, start, count, values));
  }
  OK(ncmpi_close(ncid));
}
static void holes_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE);
  float v[ROWS * COLUMNS], own_fill[ROWS * COLUMNS];
  OK(ncmpi_get_var_float_all(ncid, variable_of(ncid, "v"), v));
  OK(ncmpi_get_var_float_all(ncid, variable_of(ncid, "own_fill"), own_fill));
  for (int j = 0; j < ROWS; ++j)
    for (int i = 0; i < COLUMNS; ++i) {
      EQUAL(v[j * COLUMNS + i], j % 3 == 0 ? (float)cell(j, i) : NC_FILL_FLOAT);
      EQUAL(own_fill[j * COLUMNS + i], j % 3 == 0 ? (float)cell(j, i) : -7.0f);
    }
  OK(ncmpi_close(ncid));
}

static void strides_reader(void) { /* strides of 1 and more, imap, derived buffer types */
  const int ncid = open_file("case.nc", NC_NOWRITE), id = variable_of(ncid, "v");
  const MPI_Offset start[2] = {1, 2}, count[2] = {5, 6}, ones[2] = {1, 1}, stride[2] = {2, 3},
                   transposed[2] = {1, 5};
  double values[30], wide[60];
  OK(ncmpi_get_vars_double_all(ncid, id, start, count, ones, values));
  for (int k = 0; k < 30; ++k) EQUAL(values[k], cell(1 + k / 6, 2 + k % 6));
  OK(ncmpi_get_vars_double_all(ncid, id, start, count, stride, values));
  for (int k = 0; k < 30; ++k) EQUAL(values[k], cell(1 + 2 * (k / 6), 2 + 3 * (k % 6)));
  OK(ncmpi_get_varm_double_all(ncid, id, start, count, stride, transposed, values));
  for (int k = 0; k < 30; ++k) EQUAL(values[k], cell(1 + 2 * (k % 5), 2 + 3 * (k / 5)));
  MPI_Datatype every_other;
  MPI_Type_vector(30, 1, 2, MPI_DOUBLE, &every_other);
  MPI_Type_commit(&every_other);
  for (int k = 0; k < 60; ++k) wide[k] = -1;
  OK(ncmpi_get_vara_all(ncid, id, start, count, wide, 1, every_other));
  for (int k = 0; k < 30; ++k) EQUAL(wide[2 * k], cell(1 + k / 6, 2 + k % 6));
  for (int k = 0; k < 29; ++k) EQUAL(wide[2 * k + 1], -1);
  MPI_Type_free(&every_other);
  OK(ncmpi_close(ncid));
}
static void strides_writer(void) { /* the same elements, from strided, transposed and vector-typed puts */
  const int ncid = create_file("case.nc", NC_64BIT_DATA), id = define_grid(ncid, NC_DOUBLE);
  OK(ncmpi_enddef(ncid));
  for (int phase = 0; phase < 2; ++phase) { /* even columns by a strided put, odd columns transposed */
    const MPI_Offset start[2] = {0, phase}, count[2] = {rank == 0 ? ROWS : 0, COLUMNS / 2},
                     stride[2] = {1, 2};
    const MPI_Offset imap[2] = {1, ROWS};
    double values[ROWS * COLUMNS / 2];
    for (int j = 0; j < ROWS; ++j)
      for (int i = 0; i < COLUMNS / 2; ++i)
        values[phase == 0 ? j * (COLUMNS / 2) + i : i * ROWS + j] = cell(j, 2 * i + phase);
    if (phase == 0)
      OK(ncmpi_put_vars_double_all(ncid, id, start, count, stride, values));
    else
      OK(ncmpi_put_varm_double_all(ncid, id, start, count, stride, imap, values));
  }
  OK(ncmpi_close(ncid));
}

static void types_writer(void) {
  const int ncid = create_file("case.nc", NC_64BIT_DATA);
  const nc_type types[] = {NC_BYTE,  NC_SHORT,  NC_INT,  NC_FLOAT, NC_DOUBLE,
                           NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64};
  const char* names[] = {"byte",  "short",  "int",  "float", "double",
                         "ubyte", "ushort", "uint", "int64", "uint64"};
  int dim, ids[10];
  OK(ncmpi_def_dim(ncid, "x", 4, &dim));
  for (int t = 0; t < 10; ++t) OK(ncmpi_def_var(ncid, names[t], types[t], 1, &dim, &ids[t]));
  OK(ncmpi_enddef(ncid));
  const double values[4] = {0, 1, 100, 120};
  for (int t = 0; t < 10; ++t) OK(ncmpi_put_var_double_all(ncid, ids[t], values));
  /* out of range: an error, and all other elements arrive */
  const int wide[4] = {5, 300, -6, 7};
  EXPECT(NC_ERANGE, ncmpi_put_var_int_all(ncid, ids[0], wide));
  OK(ncmpi_close(ncid));
}
static void types_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE);
  const char* names[] = {"short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64"};
  const int expected[4] = {0, 1, 100, 120};
  for (int t = 0; t < 9; ++t) {
    short s[4];
    unsigned int u[4];
    long long l[4];
    float f[4];
    signed char c[4];
    const int id = variable_of(ncid, names[t]);
    OK(ncmpi_get_var_short_all(ncid, id, s));
    OK(ncmpi_get_var_uint_all(ncid, id, u));
    OK(ncmpi_get_var_longlong_all(ncid, id, l));
    OK(ncmpi_get_var_float_all(ncid, id, f));
    OK(ncmpi_get_var_schar_all(ncid, id, c));
    for (int k = 0; k < 4; ++k) {
      EQUAL(s[k], expected[k]);
      EQUAL(u[k], expected[k]);
      EQUAL(l[k], expected[k]);
      EQUAL(f[k], expected[k]);
      EQUAL(c[k], expected[k]);
    }
    char text[4];
    EXPECT(NC_ECHAR, ncmpi_get_var_text_all(ncid, id, text));
  }
  int bytes[4];
  unsigned short u[4];
  OK(ncmpi_get_var_int_all(ncid, variable_of(ncid, "byte"), bytes));
  EQUAL(bytes[0], 5);
  EQUAL(bytes[1], NC_FILL_BYTE);
  EQUAL(bytes[2], -6);
  EQUAL(bytes[3], 7);
  EXPECT(NC_ERANGE, ncmpi_get_var_ushort_all(ncid, variable_of(ncid, "byte"), u));
  EQUAL(u[0], 5);
  EQUAL(u[3], 7);
  OK(ncmpi_close(ncid));
}

enum { LIST = 3000 };
static void lists_writer(void) { /* thousands of one-element requests for each rank, in scattered order */
  const int ncid = create_file("case.nc", 0);
  int dim, id, request;
  OK(ncmpi_def_dim(ncid, "x", (MPI_Offset)LIST * ranks, &dim));
  OK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dim, &id));
  OK(ncmpi_enddef(ncid));
  MPI_Offset(*starts)[1] = malloc(sizeof *starts * LIST), ** list = malloc(sizeof *list * LIST);
  int* values = malloc(sizeof *values * LIST);
  for (int k = 0; k < LIST; ++k) {
    starts[k][0] = (MPI_Offset)((k * 7) % LIST) * ranks + rank; /* cyclic over the ranks, shuffled */
    list[k] = starts[k];
    values[k] = (int)starts[k][0] * 3;
  }
  OK(ncmpi_iput_varn_int(ncid, id, LIST, list, NULL, values, &request));
  OK(ncmpi_wait_all(ncid, 1, &request, NULL));
  free(values), free(list), free(starts);
  OK(ncmpi_close(ncid));
}
static void lists_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE), id = variable_of(ncid, "v");
  const MPI_Offset length = length_of(ncid, "x"), start = part_begin(length, rank, ranks),
                   end = part_begin(length, rank + 1, ranks);
  const MPI_Offset count = end - start;
  int* values = malloc(sizeof *values * (size_t)count);
  OK(ncmpi_get_vara_int_all(ncid, id, &start, &count, values));
  for (MPI_Offset k = 0; k < count; ++k) EQUAL(values[k], (start + k) * 3);
  /* the same elements one by one, from the end */
  for (MPI_Offset k = 0; k < count && k < LIST; ++k) {
    const MPI_Offset at = end - 1 - k;
    int request = 0;
    OK(ncmpi_iget_var1_int(ncid, id, &at, &values[k], &request));
  }
  OK(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  for (MPI_Offset k = 0; k < count && k < LIST; ++k) EQUAL(values[k], (end - 1 - k) * 3);
  free(values);
  OK(ncmpi_close(ncid));
}

static void overwrites_writer(void) { /* a later put of the same process wins: a large one over many small
                                         ones, and small ones over a large one */
  const int ncid = create_file("case.nc", 0);
  int dims[2], id;
  OK(ncmpi_def_dim(ncid, "rank", ranks, &dims[0]));
  OK(ncmpi_def_dim(ncid, "x", 100, &dims[1]));
  OK(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &id));
  OK(ncmpi_enddef(ncid));
  OK(ncmpi_begin_indep_data(ncid));
  int row[100];
  for (int pass = 0; pass < 3; ++pass) {
    const MPI_Offset start[2] = {rank, 0}, count[2] = {1, 100};
    for (int k = 0; k < 100; ++k) row[k] = 1000 * pass + k;
    OK(ncmpi_put_vara_int(ncid, id, start, count, row));
    for (int k = pass; k < 100; k += 10) {
      const MPI_Offset at[2] = {rank, k};
      const int value = -k;
      OK(ncmpi_put_var1_int(ncid, id, at, &value));
    }
  }
  OK(ncmpi_end_indep_data(ncid));
  OK(ncmpi_close(ncid));
}
static void overwrites_reader(void) {
  const int ncid = open_file("case.nc", NC_NOWRITE), id = variable_of(ncid, "v");
  const MPI_Offset rows = length_of(ncid, "rank");
  int* values = malloc(sizeof *values * 100 * (size_t)rows);
  OK(ncmpi_get_var_int_all(ncid, id, values));
  for (MPI_Offset j = 0; j < rows; ++j)
    for (int k = 0; k < 100; ++k) EQUAL(values[j * 100 + k], k % 10 == 2 ? -k : 2000 + k);
  free(values);
  OK(ncmpi_close(ncid));
}

const struct test_case shape_cases[] = {{"crossing", crossing_writer, crossing_reader},
                                        {"holes", holes_writer, holes_reader},
                                        {"strides", strides_writer, strides_reader},
                                        {"types", types_writer, types_reader},
                                        {"lists", lists_writer, lists_reader},
                                        {"overwrites", overwrites_writer, overwrites_reader},
                                        {NULL, NULL, NULL}};
