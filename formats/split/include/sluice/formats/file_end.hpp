#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/file_space.hpp"

namespace sluice::formats {

/// Which files have the data of a variable, if the dataset has several files.
enum class Share : std::uint8_t {
  in_all,     ///< each file has a part of the data
  in_this,    ///< only this file has the data
  in_nobody,  ///< the file defines the variable, but its data is elsewhere or has no meaning
};

/// The end of the data in one of several files, and the end of the file. A file that ends before its data was
/// truncated, or no process has put data there: unwritten data occupies no space.
struct FileEnd {
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::max();

  std::int64_t file_bytes = 0;
  std::int64_t data_bytes = 0;  ///< size of the file with all of its data
  /// The number of the first missing piece, among the pieces that all files share. A piece is a fixed-size
  /// variable, or one record of a record variable.
  std::int64_t first_missing = nothing;
  bool is_within = false;   ///< the file ends inside a piece, not before one
  bool has_shared = false;  ///< the file has a part of the shared data; a master has not

  [[nodiscard]] bool is_complete() const noexcept { return file_bytes >= data_bytes; }
};

/// The end of the data of a file with that many records. `shares` are by variable.
[[nodiscard]] std::int64_t end_of_data(const FileDescription& file, std::int64_t records,
                                       std::span<const Share> shares);
/// The end of the data, compared with a file size in bytes.
[[nodiscard]] FileEnd find_end(const FileDescription& file, std::int64_t records,
                               std::span<const Share> shares, std::int64_t file_bytes);

/// Throws FormatError(NC_ETRUNC), which names a truncated file: a file that ends inside a variable, or that
/// lacks data that another file has. If all files lack the same variables, no process has put data into them.
void check_ends(std::span<const FileEnd> ends, std::span<const std::string> paths);

}  // namespace sluice::formats
