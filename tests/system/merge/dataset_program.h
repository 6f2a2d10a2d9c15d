/* What the programs of this folder share that write and compare datasets. */
#ifndef SLUICE_TEST_DATASET_PROGRAM_H
#define SLUICE_TEST_DATASET_PROGRAM_H
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void must(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerrno(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) must(call, #call)

static int add(int ncid, const char* name, nc_type type, int dimensions, const int* dimids) {
  int id;
  MUST(ncmpi_def_var(ncid, name, type, dimensions, dimids, &id));
  MUST(ncmpi_put_att_text(ncid, id, "long_name", (MPI_Offset)strlen(name), name));
  return id;
}

/* Two datasets, element by element, each rank all of them. */
static void compare(const char* path, const char* other, int compares_attributes) {
  int ids[2], variables[2], attributes[2], dimensions[2], dimids[2][4];
  char names[2][NC_MAX_NAME + 1];
  nc_type types[2];
  MUST(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, ids));
  MUST(ncmpi_open(MPI_COMM_WORLD, other, NC_NOWRITE, MPI_INFO_NULL, ids + 1));
  for (int i = 0; i < 2; ++i) MUST(ncmpi_inq(ids[i], dimensions + i, variables + i, attributes + i, NULL));
  if (dimensions[0] != dimensions[1] || variables[0] != variables[1] || attributes[0] != attributes[1])
    must(NC_EINVAL, "they define other things");
  for (int id = 0; id < variables[0]; ++id) {
    size_t bytes = sizeof(double);
    void* values[2];
    for (int i = 0; i < 2; ++i)
      MUST(ncmpi_inq_var(ids[i], id, names[i], types + i, dimensions + i, dimids[i], attributes + i));
    if (strcmp(names[0], names[1]) != 0 || types[0] != types[1] || dimensions[0] != dimensions[1] ||
        (compares_attributes && attributes[0] != attributes[1]) ||
        memcmp(dimids[0], dimids[1], (size_t)dimensions[0] * sizeof(int)) != 0)
      must(NC_EINVAL, names[0]);
    for (int d = 0; d < dimensions[0]; ++d) {
      MPI_Offset length;
      MUST(ncmpi_inq_dimlen(ids[0], dimids[0][d], &length));
      bytes *= (size_t)length;
    }
    for (int i = 0; i < 2; ++i) {
      values[i] = calloc(1, bytes);
      MUST(ncmpi_get_var_all(ids[i], id, values[i], 0, MPI_DATATYPE_NULL));
    }
    if (memcmp(values[0], values[1], bytes) != 0) must(NC_EINVAL, names[0]);
    for (int i = 0; i < 2; ++i) free(values[i]);
  }
  for (int i = 0; i < 2; ++i) MUST(ncmpi_close(ids[i]));
}

#endif
