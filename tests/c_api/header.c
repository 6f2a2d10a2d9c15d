/* The header compiles as C11, alone and twice. */
#include <pnetcdf.h>

_Static_assert(NC_NOERR == 0 && NC_EBADID == -33 && NC_EMULTIDEFINE_CMODE == -273,
               "statuses have netCDF's values");
_Static_assert(sizeof(nc_type) == sizeof(int), "nc_type is an int");

int (*header_c_uses)(int ncid) = ncmpi_close;
