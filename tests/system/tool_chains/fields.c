/* Writes fields as a model does, or copies a file of any content: a program of PnetCDF for chains of tools.
 *
 *     fields make SEED FILES PREFIX    PREFIX0.nc, PREFIX1.nc, …
 *     fields copy FROM TO              by pieces, a share of the records or rows for each rank
 *
 * SEED says which format, sizes and kinds of puts there are; the file does not depend on the ranks. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 16 };

static int rank, ranks;

#define MUST(call) must(call, #call, __LINE__)

static void must(int status, const char* call, int line) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "fields.c:%d: %s: %s\n", line, call, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Where this rank's share of so many begins. */
static MPI_Offset share(MPI_Offset all, int of_rank) {
  return all * of_rank / ranks;
}

static void put_text(int id, int variable, const char* name, const char* text) {
  MUST(ncmpi_put_att_text(id, variable, name, (MPI_Offset)strlen(text), text));
}

static void define_axis(int id, int dim, const char* name, const char* units, nc_type type, int* variable) {
  MUST(ncmpi_def_var(id, name, type, 1, &dim, variable));
  put_text(id, *variable, "units", units);
}

static void write_file(unsigned seed, const char* path) {
  const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  const int large = seed / 3 % 4 == 0;
  const MPI_Offset times = 1 + seed / 7 % 5, lats = large ? 120 : 3 + seed / 11 % 20,
                   lons = large ? 240 : 4 + seed / 13 % 30;
  const int by_requests = seed / 17 % 2, alone = seed / 19 % 3 == 0;
  int id, dims[3], axes[3], temp, count, height;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | formats[seed % 3], MPI_INFO_NULL, &id));
  MUST(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  MUST(ncmpi_def_dim(id, "lat", lats, &dims[1]));
  MUST(ncmpi_def_dim(id, "lon", lons, &dims[2]));
  define_axis(id, dims[0], "time", "days since 2000-01-01 00:00:00", NC_DOUBLE, &axes[0]);
  define_axis(id, dims[1], "lat", "degrees_north", NC_FLOAT, &axes[1]);
  define_axis(id, dims[2], "lon", "degrees_east", NC_FLOAT, &axes[2]);
  MUST(ncmpi_def_var(id, "temp", NC_FLOAT, 3, dims, &temp));
  MUST(ncmpi_def_var(id, "count", NC_SHORT, 3, dims, &count));
  MUST(ncmpi_def_var(id, "height", NC_DOUBLE, 2, dims + 1, &height));
  put_text(id, temp, "units", "K");
  const float missing = 1e20F;
  MUST(ncmpi_put_att_float(id, temp, "_FillValue", NC_FLOAT, 1, &missing));
  put_text(id, NC_GLOBAL, "title", "fields");
  MUST(ncmpi_enddef(id));

  double* const axis = malloc(sizeof(double) * (size_t)(times + lats + lons));
  for (int i = 0; i < 3; ++i) {
    const MPI_Offset start = 0, length = i == 0 ? times : i == 1 ? lats : lons;
    for (MPI_Offset k = 0; k < length; ++k)
      axis[k] = i == 0   ? (double)k + seed % 9
                : i == 1 ? -80.0 + 160.0 * (double)k / (double)lats
                         : 360.0 * (double)k / (double)lons;
    const MPI_Offset mine = rank == 0 ? length : 0;
    MUST(ncmpi_put_vara_double_all(id, axes[i], &start, &mine, axis));
  }
  free(axis);

  const MPI_Offset first = share(lats, rank), rows = share(lats, rank + 1) - first;
  const size_t elements = (size_t)(rows * lons);
  double* const values = malloc(sizeof(double) * (elements + 1) * (size_t)times);
  if (alone) MUST(ncmpi_begin_indep_data(id));
  for (MPI_Offset t = 0; t < times; ++t) {
    double* const mine = values + (size_t)t * elements;
    const MPI_Offset start[3] = {t, first, 0}, shape[3] = {1, rows, lons};
    for (size_t k = 0; k < elements; ++k)
      mine[k] = (double)((seed + (unsigned)t * 31U + (unsigned)(first * lons) + (unsigned)k * 7U) % 1000U);
    if (alone) {
      MUST(ncmpi_put_vara_double(id, temp, start, shape, mine));
      MUST(ncmpi_put_vara_double(id, count, start, shape, mine));
      if (t == 0) MUST(ncmpi_put_vara_double(id, height, start + 1, shape + 1, mine));
    } else if (by_requests) {
      MUST(ncmpi_iput_vara_double(id, temp, start, shape, mine, NULL));
      MUST(ncmpi_iput_vara_double(id, count, start, shape, mine, NULL));
      if (t == 0) MUST(ncmpi_iput_vara_double(id, height, start + 1, shape + 1, mine, NULL));
    } else {
      MUST(ncmpi_put_vara_double_all(id, temp, start, shape, mine));
      MUST(ncmpi_put_vara_double_all(id, count, start, shape, mine));
      if (t == 0) MUST(ncmpi_put_vara_double_all(id, height, start + 1, shape + 1, mine));
    }
  }
  if (alone) MUST(ncmpi_end_indep_data(id));
  if (by_requests && !alone) MUST(ncmpi_wait_all(id, NC_PUT_REQ_ALL, NULL, NULL));
  MUST(ncmpi_close(id));
  free(values);
}

static MPI_Datatype type_in_memory(nc_type type) {
  switch (type) {
    case NC_CHAR:
      return MPI_CHAR;
    case NC_BYTE:
      return MPI_SIGNED_CHAR;
    case NC_UBYTE:
      return MPI_UNSIGNED_CHAR;
    case NC_SHORT:
      return MPI_SHORT;
    case NC_USHORT:
      return MPI_UNSIGNED_SHORT;
    case NC_INT:
      return MPI_INT;
    case NC_UINT:
      return MPI_UNSIGNED;
    case NC_FLOAT:
      return MPI_FLOAT;
    case NC_INT64:
      return MPI_LONG_LONG;
    case NC_UINT64:
      return MPI_UNSIGNED_LONG_LONG;
    default:
      return MPI_DOUBLE;
  }
}

static void copy_attributes(int from, int to, int variable, int count) {
  char name[NC_MAX_NAME + 1];
  for (int i = 0; i < count; ++i) {
    MUST(ncmpi_inq_attname(from, variable, i, name));
    MUST(ncmpi_copy_att(from, variable, name, to, variable));
  }
}

/* A rank without a share takes part with nothing. */
static void copy_variable(int from, int to, int variable) {
  int ndims, dims[MOST_DIMS];
  nc_type type;
  MPI_Offset start[MOST_DIMS] = {0}, shape[MOST_DIMS] = {0}, elements = 1;
  MUST(ncmpi_inq_var(from, variable, NULL, &type, &ndims, dims, NULL));
  for (int i = 0; i < ndims; ++i) MUST(ncmpi_inq_dimlen(from, dims[i], &shape[i]));
  if (ndims > 0) {
    const MPI_Offset all = shape[0];
    start[0] = share(all, rank);
    shape[0] = share(all, rank + 1) - start[0];
  }
  for (int i = 0; i < ndims; ++i) elements *= shape[i];
  void* const bytes = malloc((size_t)elements * 8 + 8);
  MUST(ncmpi_get_vara_all(from, variable, start, shape, bytes, elements, type_in_memory(type)));
  MUST(ncmpi_put_vara_all(to, variable, start, shape, bytes, elements, type_in_memory(type)));
  free(bytes);
}

static void copy_file(const char* source, const char* target) {
  int from, to, format, ndims, nvars, attributes, unlimited;
  char name[NC_MAX_NAME + 1];
  MUST(ncmpi_open(MPI_COMM_WORLD, source, NC_NOWRITE, MPI_INFO_NULL, &from));
  MUST(ncmpi_inq_format(from, &format));
  const int mode = format == NC_FORMAT_CDF5 ? NC_64BIT_DATA : format == NC_FORMAT_CDF2 ? NC_64BIT_OFFSET : 0;
  MUST(ncmpi_create(MPI_COMM_WORLD, target, NC_CLOBBER | mode, MPI_INFO_NULL, &to));
  MUST(ncmpi_inq(from, &ndims, &nvars, &attributes, &unlimited));
  for (int i = 0; i < ndims; ++i) {
    MPI_Offset length;
    int id;
    MUST(ncmpi_inq_dim(from, i, name, &length));
    MUST(ncmpi_def_dim(to, name, i == unlimited ? NC_UNLIMITED : length, &id));
  }
  copy_attributes(from, to, NC_GLOBAL, attributes);
  for (int i = 0; i < nvars; ++i) {
    int count, of, dims[MOST_DIMS], id;
    nc_type type;
    MUST(ncmpi_inq_var(from, i, name, &type, &of, dims, &count));
    MUST(ncmpi_def_var(to, name, type, of, dims, &id));
    copy_attributes(from, to, i, count);
  }
  MUST(ncmpi_enddef(to));
  for (int i = 0; i < nvars; ++i) copy_variable(from, to, i);
  MUST(ncmpi_close(from));
  MUST(ncmpi_close(to));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 5 && strcmp(argv[1], "make") == 0) {
    for (unsigned i = 0; i < (unsigned)atoi(argv[3]); ++i) {
      char path[4096];
      snprintf(path, sizeof path, "%s%u.nc", argv[4], i);
      /* all files of a call have one format and size: tools join them */
      write_file((unsigned)atoi(argv[2]), path);
    }
  } else {
    for (int i = 2; i + 1 < argc; i += 2) copy_file(argv[i], argv[i + 1]);
  }
  MPI_Finalize();
  return 0;
}
