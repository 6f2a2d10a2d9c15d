#pragma once

/// Opens the client library for the MPI that this process has loaded: the one beside this library whose name
/// says that MPI. A process without MPI gets Open MPI's. Returns its handle; or NULL, and *problem says what
/// is wrong and what to do. The text stays.
void* sluice_open_client_library(const char** problem);
