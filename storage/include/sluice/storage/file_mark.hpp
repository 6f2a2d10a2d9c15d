#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// What a netCDF file says of where it comes from, for recovery (docs/formats/burst-buffer-log.md, "The mark
/// of a file"). It is beside the file's bytes, in an extended attribute.
struct FileMark {
  std::uint64_t run = 0;        ///< of a workflow; else 0
  std::int64_t created_ns = 0;  ///< when that run began, or, without one, who wrote the file opened it
  std::uint64_t group = 0;      ///< without a run: the processes that opened it
  std::int64_t origin = 0;      ///< of a workflow: the first of the steps that continue one another
  std::int64_t step = 0;        ///< the last of which something is in the file
  std::int64_t complete = 0;    ///< the last that is in the file with what all processes have put; 0: none
  std::set<std::int64_t> ranks = {};  ///< of the steps behind it: whose puts are in the file
  bool lacks_puts = false;            ///< of these: some of their logs could not be read to the end
  std::string content = {};           ///< content_of() the file, or growing_content

  /// Of the same steps of one run, or of the same processes.
  [[nodiscard]] bool is_of_same(const FileMark& other) const noexcept {
    return run == other.run && origin == other.origin && group == other.group;
  }
  /// Whether it is of an earlier create.
  [[nodiscard]] bool is_before(const FileMark& other) const noexcept;
};

/// Of a file that is being written in place.
inline constexpr std::string_view growing_content = "growing";

/// Tells two files apart: the size, and a number made of parts of what is in it.
[[nodiscard]] std::string content_of(const File& file);

/// Nothing where there is none, or one that is not understood.
[[nodiscard]] std::optional<FileMark> mark_of(const File& file);
/// False where the file system keeps none.
bool set_mark(File& file, const FileMark& mark);

/// The line that a file has, and back.
[[nodiscard]] std::string encode_mark(const FileMark& mark);
[[nodiscard]] std::optional<FileMark> decode_mark(const std::string& line);

/// "0-3,7", and back.
[[nodiscard]] std::string describe_ranks(const std::set<std::int64_t>& ranks);

}  // namespace sluice::storage
