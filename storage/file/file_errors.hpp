#pragma once
#include <string>

#include "sluice/formats/status.hpp"

namespace sluice::storage {

/// PnetCDF's status for an errno of open, remove or rename; NC_EFILE if PnetCDF has no status for that errno.
[[nodiscard]] Status status_of_errno(int error_number) noexcept;

/// PnetCDF's status for an errno of a read or write. `otherwise` is NC_EREAD or NC_EWRITE.
[[nodiscard]] Status status_of_errno(int error_number, Status otherwise) noexcept;

/// Throws IoError.
[[noreturn]] void fail(int error_number, const std::string& path, const std::string& action);

}  // namespace sluice::storage
