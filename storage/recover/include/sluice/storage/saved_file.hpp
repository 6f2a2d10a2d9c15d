#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A file as its program had it at an fsync, with where it belongs: docs/formats/saved-file.md.
struct SavedFile {
  std::string path;             ///< of the file itself
  std::uint64_t run = 0;        ///< whose matchers hold the lock of the directory while they live
  std::int64_t size_bytes = 0;  ///< of its contents
};

constexpr std::string_view saved_file_suffix = ".sluice-saved";

/// A name in the directory for what the matcher saves as its `number`-th file.
[[nodiscard]] std::string saved_file_path(const std::string& directory, const SavedFile& file,
                                          std::uint32_t matcher, std::uint64_t number);

/// Saves the contents, permissions and times of the file `from`, which others may write meanwhile. When it
/// returns, they are on storage; a process that is killed before leaves nothing by that name.
/// `file.size_bytes` is not used. Throws IoError.
void save_file(FileSystem& system, const std::string& from, const std::string& to, const SavedFile& file);

/// The number of a saved file, of its path; 0 where it has none.
[[nodiscard]] std::uint64_t number_of_saved(const std::string& path) noexcept;

/// Nothing: the file is not one that was saved, or is damaged. Throws IoError.
[[nodiscard]] std::optional<SavedFile> read_saved_file(FileSystem& system, const std::string& path);

/// Whether the file at the path has the same contents.
[[nodiscard]] bool has_saved_contents(FileSystem& system, const std::string& saved, const SavedFile& file,
                                      const std::string& path);

/// Puts the contents, with their permissions and times, in the place of what is at the path. In every case
/// that has the former contents or all of these. Throws IoError.
void restore_file(FileSystem& system, const std::string& saved, const SavedFile& file,
                  const std::string& path);

}  // namespace sluice::storage
