#pragma once
#include <memory>
#include <string>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A new file that has its name when it is complete, and another one before: TARGET.partial. It is locked as
/// long as somebody writes it, so that two who make the same file at once have one each (TARGET.2.partial,
/// …), and what somebody left who was killed is known as such: then it is removed. What belongs to another
/// user is left alone. Nobody else can read it before it is complete.
class PartialFile {
 public:
  /// Throws IoError. `system` outlives this.
  PartialFile(FileSystem& system, std::string target);
  /// Removes it, unless it has its name.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] File& file() noexcept { return *file_; }
  /// Where it is until then.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& target() const noexcept { return target_; }

  /// Gives it its name, and the permissions of the file that is there or of any new one. What was written has
  /// been synced. Throws IoError; then it is still partial.
  void publish();
  void remove();

 private:
  [[nodiscard]] bool take(const std::string& path);

  FileSystem& system_;
  std::string target_;
  std::string path_;
  std::unique_ptr<File> file_;
};

}  // namespace sluice::storage
