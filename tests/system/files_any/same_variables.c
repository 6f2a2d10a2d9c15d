// same_variables DIRECTORY FILE...:  compares all variables of each file with those of the file of that name
// in the directory, on all ranks: as they are, by blocks of rows and of columns, and as doubles with strides,
// posted at once.
// same_variables change FILE:  changes a row of the first variable
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 4 };
static int rank, ranks;

static void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct {
  MPI_Offset start[MOST_DIMENSIONS], count[MOST_DIMENSIONS], stride[MOST_DIMENSIONS];
  MPI_Offset elements;
} Box;

// The part of the rank along one dimension; with a step of 2 along the last one where that is wanted.
static Box part_of(int file, int varid, int along, int has_steps) {
  Box box = {.elements = 1};
  int dimensions, dimids[MOST_DIMENSIONS];
  check(ncmpi_inq_varndims(file, varid, &dimensions), "inq_varndims");
  check(ncmpi_inq_vardimid(file, varid, dimids), "inq_vardimid");
  for (int d = 0; d < dimensions; ++d) {
    MPI_Offset length;
    check(ncmpi_inq_dimlen(file, dimids[d], &length), "inq_dimlen");
    box.start[d] = d == along ? length * rank / ranks : 0;
    box.count[d] = d == along ? length * (rank + 1) / ranks - box.start[d] : length;
    box.stride[d] = has_steps && d == dimensions - 1 ? 2 : 1;
    box.count[d] = (box.count[d] + box.stride[d] - 1) / box.stride[d];
    box.elements *= box.count[d];
  }
  return box;
}

static void* values_of(int file, int varid, const Box* box, MPI_Datatype type, int bytes) {
  void* values = malloc((size_t)(box->elements * bytes) + 1);
  if (type == MPI_DOUBLE) {
    int request, status;
    check(ncmpi_iget_vars_double(file, varid, box->start, box->count, box->stride, values, &request),
          "iget_vars");
    check(ncmpi_wait_all(file, 1, &request, &status), "wait_all");
    if (status != NC_ERANGE) check(status, "iget_vars_double");
  } else {
    check(ncmpi_get_vara_all(file, varid, box->start, box->count, values, box->elements, type),
          "get_vara_all");
  }
  return values;
}

static void compare(int one, int other, int varid, int along, int as_doubles, const char* path) {
  const MPI_Datatype types[] = {
      0,          MPI_SIGNED_CHAR,   MPI_CHAR,           MPI_SHORT,    MPI_INT,       MPI_FLOAT,
      MPI_DOUBLE, MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG};
  const int sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  nc_type type;
  char name[NC_MAX_NAME + 1];
  check(ncmpi_inq_var(one, varid, name, &type, NULL, NULL, NULL), "inq_var");
  if (as_doubles && (type == NC_CHAR || type == NC_DOUBLE)) return;
  const Box box = part_of(other, varid, along, as_doubles);
  const MPI_Datatype memory = as_doubles ? MPI_DOUBLE : types[type];
  const int bytes = as_doubles ? 8 : sizes[type];
  void* const a = values_of(one, varid, &box, memory, bytes);
  void* const b = values_of(other, varid, &box, memory, bytes);
  if (memcmp(a, b, (size_t)(box.elements * bytes)) != 0) {
    fprintf(stderr, "%s: %s differs on rank %d of %d, along %d%s\n", path, name, rank, ranks, along,
            as_doubles ? ", as doubles" : "");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(a);
  free(b);
}

// Gives the first row of the first variable to the second one, in an existing file.
static void change(const char* path) {
  int file;
  MPI_Offset columns;
  check(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &file), path);
  int dimids[MOST_DIMENSIONS];
  check(ncmpi_inq_vardimid(file, 0, dimids), "inq_vardimid");
  check(ncmpi_inq_dimlen(file, dimids[1], &columns), "inq_dimlen");
  MPI_Offset start[] = {0, columns * rank / ranks}, count[] = {1, 0};
  count[1] = columns * (rank + 1) / ranks - start[1];
  int* const values = malloc((size_t)count[1] * sizeof(int));
  check(ncmpi_get_vara_int_all(file, 0, start, count, values), "get_vara");
  start[0] = 1;
  check(ncmpi_put_vara_int_all(file, 0, start, count, values), "put_vara");
  check(ncmpi_close(file), "close");
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 3 && strcmp(argv[1], "change") == 0) {
    change(argv[2]);
    MPI_Finalize();
    return 0;
  }
  for (int i = 2; i < argc; ++i) {
    char path[4096];
    int one, other, variables, others;
    snprintf(path, sizeof path, "%s/%s", argv[1], argv[i]);
    check(ncmpi_open(MPI_COMM_WORLD, argv[i], NC_NOWRITE, MPI_INFO_NULL, &one), argv[i]);
    check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &other), path);
    check(ncmpi_inq_nvars(one, &variables), "inq_nvars");
    check(ncmpi_inq_nvars(other, &others), "inq_nvars");
    if (variables != others) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int varid = 0; varid < variables; ++varid) {
      compare(one, other, varid, 0, 0, argv[i]);
      compare(one, other, varid, 1, 0, argv[i]);
      compare(one, other, varid, 0, 1, argv[i]);
    }
    check(ncmpi_close(one), "close");
    check(ncmpi_close(other), "close");
  }
  MPI_Finalize();
  return 0;
}
