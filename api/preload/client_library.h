#pragma once

/// Opens the client library for the MPI that this process has loaded: the one beside this library whose name
/// says that MPI. A process without MPI gets Open MPI's. Returns its handle; or NULL, and *problem says what
/// is wrong and what to do. The text stays.
void* sluice_open_client_library(const char** problem);

/// Opens the client library for datasets of netCDF: the one for the MPI that the process has initialized,
/// else the one for a process without MPI. NULL: there is none. The first call decides.
void* sluice_open_netcdf_library(void);

/// From now on, the library for the process without MPI says which files it opens itself.
void sluice_use_for_files(void* library);

/// Whether this process has the library for a process without MPI.
int sluice_serves_netcdf(void);
