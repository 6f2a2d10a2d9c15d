#pragma once
#include <array>
#include <string>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::formats {

/// One of the five variables of a decomposition map: docs/formats/blobs.md, "A blob file".
struct MapVariable {
  const char* name;
  const char* description;
  bool is_list;  ///< one value for each request, not for each blob
  bool is_wide;  ///< always int64
};

inline constexpr std::array<MapVariable, map_variable_count> map_variables{{
    {"nreqs", "Number of noncontiguous requests in individual blobs", false, false},
    {"blob_start", "Starting array indices of individual blobs stored in a variable", false, true},
    {"blob_count", "Number of contiguous array elements in individual blobs stored in a variable", false,
     true},
    {"offsets", "Starting indices of flattened canonical noncontiguous requests of individual blobs", true,
     false},
    {"lengths", "Number of elements of flattened canonical noncontiguous requests of individual blobs", true,
     false},
}};

/// "D2.nreqs"
[[nodiscard]] inline std::string map_name(int map, const char* name) {
  return "D" + std::to_string(map) + "." + name;
}

[[noreturn]] inline void refuse_blobs(const std::string& path, const std::string& reason) {
  throw FormatError(NC_ENOTNC, path, 0, "the file does not have the layout of blobs: " + reason);
}

}  // namespace sluice::formats
