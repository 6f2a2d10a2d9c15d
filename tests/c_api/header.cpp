// The header compiles as C++, and its functions have C linkage.
#include <pnetcdf.h>

int (*header_cpp_uses)(int ncid) = ncmpi_close;
const char* (*header_cpp_error)() = sluice_last_error;
