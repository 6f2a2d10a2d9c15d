#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/file_space.hpp"

namespace sluice::formats {

/// Who else has the data of a variable of one of several files.
enum class Share : std::uint8_t {
  in_all,     ///< all files have a part of it
  in_this,    ///< it is in this file alone
  in_nobody,  ///< the file defines it, but its data is elsewhere or means nothing
};

/// Where the data of one file of several ends, and where the file does. A file that ends early was cut short,
/// or nothing was ever put into what is behind its end: what nobody writes takes no room.
struct FileEnd {
  static constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::max();

  std::int64_t file_bytes = 0;
  std::int64_t data_bytes = 0;  ///< that the file has when all of its data is there
  /// The number, among the pieces that all files have a part of, of the first one that is not there; a piece
  /// is a fixed variable or one record of another.
  std::int64_t first_missing = nothing;
  bool is_within = false;   ///< the file ends within a piece, and not before one
  bool has_shared = false;  ///< it has a part of what all files have: a master has not

  [[nodiscard]] bool is_complete() const noexcept { return file_bytes >= data_bytes; }
};

/// The end of the data of a file with so many records. `shares` are by variable.
[[nodiscard]] std::int64_t end_of_data(const FileDescription& file, std::int64_t records,
                                       std::span<const Share> shares);
/// That, and where a file of so many bytes ends.
[[nodiscard]] FileEnd find_end(const FileDescription& file, std::int64_t records,
                               std::span<const Share> shares, std::int64_t file_bytes);

/// Throws FormatError(NC_ETRUNC), which names a file that was cut short: one that ends within a variable, or
/// that lacks what another file has. Where all lack the same variables nobody has put anything into them.
void check_ends(std::span<const FileEnd> ends, std::span<const std::string> paths);

}  // namespace sluice::formats
