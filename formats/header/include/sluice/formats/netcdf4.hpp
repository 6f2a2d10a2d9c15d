#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "sluice/formats/error.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// A step that was written as a netCDF-4 file, by hyperslabs, is a dataset of the classic model with two more
/// global attributes: a netCDF-4 file with all definitions, but no values of the variables that the dataset
/// has; and the path of the netCDF library that has made it, in a second line nc_set_alignment's arguments.
/// Attributes that have other values in that file may be listed in a third one: for each a line with the
/// number of its variable, -1: of the dataset, a space, and its name. The dataset's values are the right
/// ones.
inline constexpr std::string_view netcdf4_file_attribute = "_sluice_netcdf4_file";
inline constexpr std::string_view netcdf4_library_attribute = "_sluice_netcdf4_library";
inline constexpr std::string_view netcdf4_changes_attribute = "_sluice_netcdf4_changes";

/// Whether the encoded header is that of such a step.
[[nodiscard]] inline bool is_netcdf4(std::span<const std::byte> header) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  return text.find(netcdf4_file_attribute) != std::string_view::npos;
}

/// Calls visit(variable, attribute) for each line of netcdf4_changes_attribute. Throws Error(NC_ENOTATT): the
/// header has no such attribute.
template <class Visit>
void for_each_netcdf4_change(std::span<const std::byte> list, const Header& header, const Visit& visit) {
  constexpr int of_dataset = -1;
  std::string_view left(reinterpret_cast<const char*>(list.data()), list.size());
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    int id = header.variable_count();
    std::from_chars(line.data(), line.data() + line.size(), id);
    const bool has_attributes = id >= of_dataset && id < header.variable_count();
    const Attributes& attributes =
        has_attributes && id != of_dataset ? header.variable(id).attributes : header.attributes;
    const int found = has_attributes ? attributes.find(line.substr(line.find(' ') + 1)) : -1;
    if (found < 0) throw Error(NC_ENOTATT, "the list of changed attributes is damaged: " + std::string(line));
    visit(id, attributes[found]);
  }
}

}  // namespace sluice::formats
