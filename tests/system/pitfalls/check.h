/* Tools that the cases share: checks that tell where they failed, and exit. */
#ifndef SLUICE_TESTS_CHECK_H
#define SLUICE_TESTS_CHECK_H
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int rank, ranks; /* of this process in MPI_COMM_WORLD */

#define FAIL(...)                                                  \
  do {                                                             \
    fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, rank); \
    fprintf(stderr, __VA_ARGS__);                                  \
    fputc('\n', stderr);                                           \
    MPI_Abort(MPI_COMM_WORLD, 1);                                  \
  } while (0)
#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) FAIL("%s does not hold", #condition); \
  } while (0)
#define EXPECT(expected, call)                                                                      \
  do {                                                                                              \
    const int status_ = (call);                                                                     \
    if (status_ != (expected))                                                                      \
      FAIL("%s gave %s (%s), expected %s", #call, ncmpi_strerrno(status_), ncmpi_strerror(status_), \
           ncmpi_strerrno(expected));                                                               \
  } while (0)
#define OK(call) EXPECT(NC_NOERR, call)
#define EQUAL(got, expected)                                                           \
  do {                                                                                 \
    const double got_ = (double)(got), expected_ = (double)(expected);                 \
    if (got_ != expected_) FAIL("%s is %.17g, expected %.17g", #got, got_, expected_); \
  } while (0)

static inline int create_file(const char* path, int mode) {
  int ncid;
  OK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | mode, MPI_INFO_NULL, &ncid));
  return ncid;
}
static inline int open_file(const char* path, int mode) {
  int ncid;
  OK(ncmpi_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &ncid));
  return ncid;
}
static inline int variable_of(int ncid, const char* name) {
  int id;
  OK(ncmpi_inq_varid(ncid, name, &id));
  return id;
}
static inline MPI_Offset length_of(int ncid, const char* name) {
  int id;
  MPI_Offset length;
  OK(ncmpi_inq_dimid(ncid, name, &id));
  OK(ncmpi_inq_dimlen(ncid, id, &length));
  return length;
}
/* The first index of part `part` when `length` is divided into `parts`. */
static inline MPI_Offset part_begin(MPI_Offset length, int part, int parts) {
  return length * part / parts;
}

struct test_case {
  const char* name;
  void (*writer)(void);
  void (*reader)(void);
};
extern const struct test_case shape_cases[], mode_cases[];

#endif
