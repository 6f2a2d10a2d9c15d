#pragma once
// The NC_* status codes as C++ constants. Do not include together with pnetcdf.h, which defines the same
// names as macros.

namespace sluice {

/// Status codes of the netCDF and PnetCDF interfaces; 0 or negative. Source: status.def.
enum Status : int {
#define SLUICE_STATUS(name, value, text) name = value,
#include "sluice/formats/status.def"
#undef SLUICE_STATUS
};

/// The text that ncmpi_strerror returns for `status`; nullptr for a code that is not in the table.
const char* status_text(int status) noexcept;

/// The name of the code ("NC_EBADID"); nullptr for a code that is not in the table.
const char* status_name(int status) noexcept;

}  // namespace sluice
