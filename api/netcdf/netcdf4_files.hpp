#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "program_library.hpp"

namespace sluice::api::netcdf {

/// Most bytes of a variable that are put or got at once, if several rows of it fit in.
inline constexpr std::size_t most_bytes_at_once = std::size_t{16} << 20;

/// The netCDF library of that path; where this machine has none, the system's. Throws Error.
[[nodiscard]] ProgramLibrary load_library(const std::string& asked);

/// The first difference between what programs find in two netCDF-4 files: definitions, and values of all
/// types. Empty: they are equal. Throws Error when a file cannot be read, or was not written by netCDF.
[[nodiscard]] std::optional<std::string> difference_of(const ProgramLibrary& library, const char* first,
                                                       const char* second);

}  // namespace sluice::api::netcdf
