/* What the preloaded library asks the client library when a program finds a dataset by netCDF. In C, because
   the preloaded library is. */
#ifndef SLUICE_NETCDF_CALLS_H
#define SLUICE_NETCDF_CALLS_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { sluice_netcdf_create, sluice_netcdf_open, sluice_netcdf_path, sluice_netcdf_shadow };

/* Who opens the dataset: one process, or the group of a communicator. */
enum { sluice_netcdf_alone, sluice_netcdf_of_c, sluice_netcdf_of_fortran };

/* No status of netCDF: the call is none of a coupled dataset, and goes on to the program's netCDF. */
enum { sluice_netcdf_is_ordinary = 0x7fff0000 };

/* One call of nc_create, nc_open or nc_inq_path; or of a function that needs the shadow's id. */
struct sluice_netcdf_call {
  int kind;      /* what is asked */
  void* library; /* a handle by which dlsym() finds the functions of the program's netCDF */
  const char* path;
  int mode;
  int* ncid;      /* create and open: the result; path: the argument; shadow: both */
  size_t* length; /* path: the results; both may be null */
  char* text;
  int group;
  const void* comm; /* of a group: the handles of MPI in C, in words, or those in Fortran */
  const void* info;
};

/* Returns a status of netCDF, or sluice_netcdf_is_ordinary. */
int sluice_netcdf(const struct sluice_netcdf_call* call);

#ifdef __cplusplus
}
#endif
#endif
