#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The origin of a netCDF file, for recovery (docs/formats/burst-buffer-log.md, "The mark of a file"). The
/// mark is stored in an extended attribute of the file, not in its bytes.
struct FileMark {
  std::uint64_t run = 0;  ///< the run of a workflow; otherwise 0
  std::int64_t created_ns =
      0;  ///< when that run began; without a run, when the processes that wrote the file opened it
  std::uint64_t group = 0;    ///< without a run: identifies the processes that opened the file
  std::int64_t origin = 0;    ///< in a workflow: the first of the steps that continue one another
  std::int64_t step = 0;      ///< the last step that has data in the file
  std::int64_t complete = 0;  ///< the last step whose puts of all processes are in the file; 0: none
  std::set<std::int64_t> ranks =
      {};                      ///< for the steps after `complete`: the ranks whose puts are in the file
  std::int64_t processes = 0;  ///< with logs of the last step; 0: not known
  bool lacks_puts = false;     ///< for these ranks: some of their logs could not be read to the end
  std::string content = {};    ///< content_of() the file, or growing_content

  /// Whether both marks are from the same steps of one run, or from the same processes.
  [[nodiscard]] bool is_of_same(const FileMark& other) const noexcept {
    return run == other.run && origin == other.origin && group == other.group;
  }
  /// Whether the puts of all processes are in the file.
  [[nodiscard]] bool has_all_ranks() const noexcept {
    return processes > 0 && std::ssize(ranks) >= processes && !lacks_puts;
  }
  /// Whether this mark is from an earlier create.
  [[nodiscard]] bool is_before(const FileMark& other) const noexcept;
};

/// The content of a file that is being written in place.
inline constexpr std::string_view growing_content = "growing";

/// Distinguishes two versions of a file: the size, and a hash of parts of the content.
[[nodiscard]] std::string content_of(const File& file);

/// Reads the mark; returns nothing if there is no mark, or if it cannot be parsed.
[[nodiscard]] std::optional<FileMark> mark_of(const File& file);
/// Sets the mark. Returns false if the file system does not store marks.
bool set_mark(File& file, const FileMark& mark);

/// Encode a mark as the line that a file stores, and decode it.
[[nodiscard]] std::string encode_mark(const FileMark& mark);
[[nodiscard]] std::optional<FileMark> decode_mark(const std::string& line);

/// Convert ranks to "0-3,7", and back.
[[nodiscard]] std::string describe_ranks(const std::set<std::int64_t>& ranks);

}  // namespace sluice::storage
