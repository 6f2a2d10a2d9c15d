#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// The first difference between two files.
struct FileDifference {
  /// "variable eta, element 3,17: 4.5 and 0", "byte 4711".
  std::string text;
  std::string variable;             ///< of CDF files whose data differs; else empty
  std::vector<std::int64_t> index;  ///< of the element in the variable
};

struct FileComparison {
  std::optional<FileDifference> difference;
  /// What differs and is no difference of the data: the attribute `history`.
  std::vector<std::string> remarks;
};

/// Compares two regular files: byte by byte, and CDF files with different bytes by header and element,
/// netCDF-4 files by what netCDF finds in them. Throws IoError when a file cannot be read.
[[nodiscard]] FileComparison compare_files(const std::filesystem::path& first,
                                           const std::filesystem::path& second);

}  // namespace sluice::coordinator
