#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Saves one file again and again: as a whole first, then what has changed, behind that. One thread uses it
/// at a time.
class FileSaver {
 public:
  /// Saves the contents, permissions and times of the file `from`, which others may write meanwhile. When it
  /// returns, they are on storage; whoever is killed before, what was saved last is there. `to`: a path that
  /// was not used before, where the whole is to be saved: the first time, when the file has another path, and
  /// where what is outdated takes more space than the file. `what.size_bytes` is not used. Throws IoError.
  void save(FileSystem& system, const std::string& from, const std::string& to, const SavedFile& what);
  /// Where the file is saved. What was saved by another path before is needed no more. Empty: it is not.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// What was written so far.
  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return written_bytes_; }

 private:
  using Fingerprint = std::array<std::uint64_t, 2>;
  [[nodiscard]] std::unique_ptr<File> open_saved(FileSystem& system, const SavedFile& what) const;
  void add(const File& source, File& saved, const std::string& from);
  void save_whole(FileSystem& system, const File& source, const std::string& to, const SavedFile& what,
                  const std::string& from);
  void add_changes(const File& source, File& saved);
  void add_pages(std::int64_t begin, std::span<const std::byte> bytes, File& saved);
  void add_part(std::int64_t begin, std::span<const std::byte> bytes, File& saved);

  std::string path_;
  std::vector<std::byte> head_;
  std::vector<Fingerprint> pages_;  ///< of what was saved
  std::int64_t size_bytes_ = -1;
  std::int64_t end_ = 0;   ///< of the saved file
  std::uint64_t sum_ = 0;  ///< of its last part
  bool is_torn_ = false;   ///< behind its last complete state
  std::uint64_t written_bytes_ = 0;
};

/// The number of a saved file, of its path; 0 where it has none.
[[nodiscard]] std::uint64_t number_of_saved(const std::string& path) noexcept;

/// Nothing: the file is not one that was saved, or is damaged. Throws IoError.
[[nodiscard]] std::optional<SavedFile> read_saved_file(FileSystem& system, const std::string& path);

/// Whether the file at the path has the same contents.
[[nodiscard]] bool has_saved_contents(FileSystem& system, const std::string& saved, const std::string& path);

/// Puts the contents, with their permissions and times, in the place of what is at the path. In every case
/// that has the former contents or all of these. Throws IoError.
void restore_file(FileSystem& system, const std::string& saved, const std::string& path);

}  // namespace sluice::storage
