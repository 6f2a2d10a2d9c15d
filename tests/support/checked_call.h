/* CHECK(call): ends all processes with a message unless a call of PnetCDF succeeds. */
#ifndef SLUICE_TESTS_CHECKED_CALL_H
#define SLUICE_TESTS_CHECKED_CALL_H
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

__attribute__((weak)) const char* sluice_last_error(void);

#define CHECK(call)                                                    \
  do {                                                                 \
    const int status_ = (call);                                        \
    if (status_ != NC_NOERR) {                                         \
      fprintf(stderr, "%s -> %s %s\n", #call, ncmpi_strerrno(status_), \
              sluice_last_error != NULL ? sluice_last_error() : "");   \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (0)

#endif
