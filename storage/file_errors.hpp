#pragma once
#include <string>

#include "sluice/formats/status.hpp"

namespace sluice::storage {

/// PnetCDF's status for an errno of opening, removing, renaming; NC_EFILE for those it has no word for.
[[nodiscard]] Status status_of_errno(int error_number) noexcept;

/// The same for reading or writing an open file: `otherwise` is NC_EREAD or NC_EWRITE.
[[nodiscard]] Status status_of_errno(int error_number, Status otherwise) noexcept;

/// Throws IoError.
[[noreturn]] void fail(int error_number, const std::string& path, const std::string& action);

}  // namespace sluice::storage
