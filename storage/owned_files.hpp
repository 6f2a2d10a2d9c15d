#pragma once
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A file system in which only one user's files can be read, and none by a symbolic link: for what others
/// could have put into a directory that they may write to.
class OwnedFiles final : public FileSystem {
 public:
  /// `base` outlives this.
  OwnedFiles(FileSystem& base, std::int64_t owner) : base_(base), owner_(owner) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override {
    auto file = base_.open(path, mode == OpenMode::read ? OpenMode::read_no_link : mode);
    if (file->owner() != owner_) throw IoError(NC_EACCESS, EPERM, path, "use a file of another user");
    return file;
  }
  [[nodiscard]] bool exists(const std::string& path) override { return base_.exists(path); }
  [[nodiscard]] std::int64_t modified_ns(const std::string& path) override { return base_.modified_ns(path); }
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override {
    return base_.owner_of(path);
  }
  [[nodiscard]] std::int64_t user() const override { return owner_; }
  void remove(const std::string& path) override { base_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { base_.rename(from, to); }
  /// Those that are this user's.
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override {
    auto names = base_.list(directory);
    std::erase_if(names,
                  [&](const std::string& name) { return base_.owner_of(directory + "/" + name) != owner_; });
    return names;
  }
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& directory) override {
    return base_.capacity_bytes(directory);
  }
  void sync_directory(const std::string& directory) override { base_.sync_directory(directory); }

 private:
  FileSystem& base_;
  std::int64_t owner_;
};

}  // namespace sluice::storage
