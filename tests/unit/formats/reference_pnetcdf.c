#include "reference_pnetcdf.h"

#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const scratch = "reference.nc";

static void finish(void) {
  MPI_Finalize();
}

static void start_mpi(void) {
  int is_started = 0;
  MPI_Initialized(&is_started);
  if (is_started) return;
  MPI_Init(NULL, NULL);
  atexit(finish);
}

static void must(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "reference: %s: %s\n", what, ncmpi_strerror(status));
  abort();
}

static int create_mode(int version) {
  return NC_CLOBBER | (version == 5 ? NC_64BIT_DATA : version == 2 ? NC_64BIT_OFFSET : 0);
}

static MPI_Datatype mpi_type(int type) {
  const MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_SIGNED_CHAR,   MPI_CHAR,
                                MPI_SHORT,         MPI_INT,           MPI_FLOAT,
                                MPI_DOUBLE,        MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,
                                MPI_UNSIGNED,      MPI_LONG_LONG,     MPI_UNSIGNED_LONG_LONG};
  return types[type];
}

static int create_with_variable(int version, int type, int64_t n) {
  int file, dimension, variable;
  start_mpi();
  must(ncmpi_create(MPI_COMM_SELF, scratch, create_mode(version), MPI_INFO_NULL, &file), "create");
  must(ncmpi_def_dim(file, "x", n, &dimension), "def_dim");
  must(ncmpi_def_var(file, "v", type, 1, &dimension, &variable), "def_var");
  must(ncmpi_enddef(file), "enddef");
  return file;
}

int reference_put(int version, int external, int memory, const void* source, int64_t n, void* stored) {
  const int file = create_with_variable(version, external, n);
  const int status = ncmpi_put_var_all(file, 0, source, n, mpi_type(memory));
  must(ncmpi_get_var_all(file, 0, stored, n, mpi_type(external)), "get unconverted");
  must(ncmpi_close(file), "close");
  return status;
}

int reference_get(int version, int external, int memory, const void* stored, int64_t n, void* destination) {
  const int file = create_with_variable(version, external, n);
  must(ncmpi_put_var_all(file, 0, stored, n, mpi_type(external)), "put unconverted");
  const int status = ncmpi_get_var_all(file, 0, destination, n, mpi_type(memory));
  must(ncmpi_close(file), "close");
  return status;
}

int reference_select(int is_put, int is_record, int dimensions, const int64_t* shape, const int64_t* start,
                     const int64_t* count, const int64_t* stride) {
  int file, variable, dimids[8];
  MPI_Offset from[8], n[8], step[8], zero[8] = {0}, one[8];
  start_mpi();
  must(ncmpi_create(MPI_COMM_SELF, scratch, NC_CLOBBER, MPI_INFO_NULL, &file), "create");
  for (int d = 0; d < dimensions; ++d) {
    char name[16];
    snprintf(name, sizeof name, "d%d", d);
    must(ncmpi_def_dim(file, name, is_record && d == 0 ? NC_UNLIMITED : shape[d], &dimids[d]), "def_dim");
    from[d] = start[d];
    n[d] = count[d];
    if (stride != NULL) step[d] = stride[d];
    one[d] = 1;
  }
  must(ncmpi_def_var(file, "v", NC_BYTE, dimensions, dimids, &variable), "def_var");
  must(ncmpi_enddef(file), "enddef");
  signed char value = 0;
  if (is_record && shape[0] > 0) {
    zero[0] = shape[0] - 1;
    must(ncmpi_put_vara_schar_all(file, variable, zero, one, &value), "set the number of records");
  }
  static signed char buffer[1 << 16];
  int status;
  if (stride == NULL) {
    status = is_put ? ncmpi_put_vara_schar_all(file, variable, from, n, buffer)
                    : ncmpi_get_vara_schar_all(file, variable, from, n, buffer);
  } else {
    status = is_put ? ncmpi_put_vars_schar_all(file, variable, from, n, step, buffer)
                    : ncmpi_get_vars_schar_all(file, variable, from, n, step, buffer);
  }
  must(ncmpi_close(file), "close");
  return status;
}

int reference_define_name(const char* name) {
  int file, dimension;
  start_mpi();
  must(ncmpi_create(MPI_COMM_SELF, scratch, NC_CLOBBER, MPI_INFO_NULL, &file), "create");
  const int status = ncmpi_def_dim(file, name, 1, &dimension);
  must(ncmpi_close(file), "close");
  return status;
}

int reference_open(const char* path) {
  int file;
  start_mpi();
  const int status = ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &file);
  if (status == NC_NOERR) must(ncmpi_close(file), "close");
  return status;
}

static MPI_Info parse_hints(const char* hints) {
  char text[512];
  MPI_Info info;
  MPI_Info_create(&info);
  snprintf(text, sizeof text, "%s", hints);
  for (char* hint = strtok(text, ";"); hint != NULL; hint = strtok(NULL, ";")) {
    char* value = strchr(hint, '=');
    *value = '\0';
    MPI_Info_set(info, hint, value + 1);
  }
  return info;
}

/* A text attribute of that many zero bytes. */
static int put_text(int file, int variable, const char* name, int64_t length) {
  char* text = calloc((size_t)length + 1, 1);
  const int status = ncmpi_put_att_text(file, variable, name, length, text);
  free(text);
  return status;
}

static int define_stage(int file, const struct reference_stage* stage) {
  int dimensions, variables, id;
  char name[16];
  must(ncmpi_inq_ndims(file, &dimensions), "inq_ndims");
  must(ncmpi_inq_nvars(file, &variables), "inq_nvars");
  if (stage->attribute_bytes >= 0) must(put_text(file, NC_GLOBAL, "title", stage->attribute_bytes), "title");
  for (int i = 0; i < stage->dimensions; ++i) {
    snprintf(name, sizeof name, "d%d", dimensions + i);
    must(ncmpi_def_dim(file, name, stage->lengths[i] == 0 ? NC_UNLIMITED : stage->lengths[i], &id),
         "def_dim");
  }
  for (int i = 0; i < stage->variables; ++i) {
    const struct reference_variable* variable = &stage->variable[i];
    snprintf(name, sizeof name, "v%d", variables + i);
    must(ncmpi_def_var(file, name, variable->type, variable->dimensions, variable->dimids, &id), "def_var");
    if (variable->attribute_bytes >= 0) must(put_text(file, id, "note", variable->attribute_bytes), "note");
  }
  if (stage->variable_align < 0) return ncmpi_enddef(file);
  return ncmpi__enddef(file, stage->header_free, stage->variable_align, stage->variable_free,
                       stage->record_align);
}

static int64_t* append_numbers(int file, int64_t* numbers) {
  int variables;
  MPI_Offset value;
  must(ncmpi_inq_header_size(file, &value), "inq_header_size");
  *numbers++ = value;
  must(ncmpi_inq_header_extent(file, &value), "inq_header_extent");
  *numbers++ = value;
  must(ncmpi_inq_recsize(file, &value), "inq_recsize");
  *numbers++ = value;
  must(ncmpi_inq_nvars(file, &variables), "inq_nvars");
  for (int id = 0; id < variables; ++id) {
    must(ncmpi_inq_varoffset(file, id, &value), "inq_varoffset");
    *numbers++ = value;
  }
  return numbers;
}

int reference_layout(const char* path, int version, const char* hints, int stages,
                     const struct reference_stage* stage, int64_t* numbers) {
  int file, status = NC_NOERR;
  start_mpi();
  MPI_Info info = parse_hints(hints);
  must(ncmpi_create(MPI_COMM_SELF, path, create_mode(version), info, &file), "create");
  for (int i = 0; i < stages && status == NC_NOERR; ++i) {
    if (stage[i].is_reopened) {
      must(ncmpi_close(file), "close");
      must(ncmpi_open(MPI_COMM_SELF, path, NC_WRITE, info, &file), "open");
    }
    if (i > 0) must(ncmpi_redef(file), "redef");
    status = define_stage(file, &stage[i]);
    if (status == NC_NOERR) numbers = append_numbers(file, numbers);
  }
  MPI_Info_free(&info);
  ncmpi_close(file);
  return status;
}
