#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace sluice::formats {

/// A step that was written as a netCDF-4 file, by hyperslabs, is a dataset of the classic model with two more
/// global attributes: a netCDF-4 file with all definitions, but no values of the variables that the dataset
/// has; and the path of the netCDF library that has made it, in a second line nc_set_alignment's arguments.
inline constexpr std::string_view netcdf4_file_attribute = "_sluice_netcdf4_file";
inline constexpr std::string_view netcdf4_library_attribute = "_sluice_netcdf4_library";

/// Whether the encoded header is that of such a step.
[[nodiscard]] inline bool is_netcdf4(std::span<const std::byte> header) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  return text.find(netcdf4_file_attribute) != std::string_view::npos;
}

}  // namespace sluice::formats
