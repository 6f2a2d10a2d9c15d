#pragma once
#include <memory>
#include <string>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A new file that gets its name when it is complete; until then it is .TARGET.sluice-partial. The writer
/// holds a lock on the partial file. Two processes that create the same file at once therefore use two
/// partial files
/// (.TARGET.2.sluice-partial, …). An unlocked partial file is a leftover of a killed process, and is removed.
/// Partial files of other users are left alone. Other users cannot read the file before it is complete.
class PartialFile {
 public:
  /// Throws IoError. `system` outlives this object. Leaves out the names before the first number.
  PartialFile(FileSystem& system, std::string target, int first_number = 1);
  /// Removes the partial file, unless it was published.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] File& file() noexcept { return *file_; }
  /// The path of the partial file.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& target() const noexcept { return target_; }
  /// The number in the name of the partial file; 1: none.
  [[nodiscard]] int number() const noexcept { return number_; }

  /// Gives the file its name, with the permissions of the existing file or of a new one. Written data has
  /// been synced. Throws IoError; then the file is still partial.
  void publish();
  /// The same with the permissions and times of the file at the path `like`.
  void publish_like(const std::string& like);
  void remove();

 private:
  void give_name();
  [[nodiscard]] bool take(const std::string& path);

  FileSystem& system_;
  std::string target_;
  std::string path_;
  int number_;
  std::unique_ptr<File> file_;
};

/// ".TARGET.sluice-partial", ".TARGET.2.sluice-partial", …
[[nodiscard]] std::string partial_path(const std::string& target, int number);

}  // namespace sluice::storage
