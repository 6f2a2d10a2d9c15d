/* Calls of Debian's libpnetcdf as plain C functions. Its header defines the NC_* codes as macros, ours as
 * constants, so one file cannot include both. All functions use a file in the current directory, in one
 * process. */
#ifndef SLUICE_TESTS_REFERENCE_PNETCDF_H
#define SLUICE_TESTS_REFERENCE_PNETCDF_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts n elements of memory type `memory` into a variable of type `external`, and reads its bytes
 * unconverted. */
int reference_put(int version, int external, int memory, const void* source, int64_t n, void* stored);

/* Stores n elements of type `external` unconverted, and gets them as `memory`. */
int reference_get(int version, int external, int memory, const void* stored, int64_t n, void* destination);

/* The status of a selection of a variable of that shape. The first length of a record variable is its
 * number of records. */
int reference_select(int is_put, int is_record, int dimensions, const int64_t* shape, const int64_t* start,
                     const int64_t* count, const int64_t* stride);

/* The status of defining a dimension with that name. */
int reference_define_name(const char* name);

/* The status of opening a file. */
int reference_open(const char* path);

struct reference_variable {
  int type;
  int dimensions;
  const int* dimids;
  int64_t attribute_bytes; /* the length of a text attribute "note", or -1 */
};

/* One pass through define mode: adds the given definitions, and leaves define mode with these arguments
 * (all -1: ncmpi_enddef). */
struct reference_stage {
  int is_reopened; /* closes the file and opens it again first */
  int64_t header_free, variable_align, variable_free, record_align;
  int64_t attribute_bytes; /* the length of a global text attribute "title", or -1 to leave the attribute
                              unchanged */
  int dimensions;
  const int64_t* lengths; /* lengths of the new dimensions d0, d1, ...; 0: the record dimension */
  int variables;
  const struct reference_variable* variable; /* the new variables v0, v1, ... */
};

/* Makes a file in stages. Hints are "name=value;name=value" or "". After each stage, appends header_size,
 * header_extent, record_size and the variables' offsets to `numbers`. Returns the first error. */
int reference_layout(const char* path, int version, const char* hints, int stages,
                     const struct reference_stage* stage, int64_t* numbers);

#ifdef __cplusplus
}
#endif
#endif
