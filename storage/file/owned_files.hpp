#pragma once
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "sluice/storage/forwarding_file_system.hpp"

namespace sluice::storage {

/// A file system that reads only one user's files, and no file by a symbolic link. It protects against files
/// that other users put into a shared directory.
class OwnedFiles final : public ForwardingFileSystem {
 public:
  /// `base` outlives this object.
  OwnedFiles(FileSystem& base, std::int64_t owner) : ForwardingFileSystem(base), owner_(owner) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override {
    auto file = base().open(path, mode == OpenMode::read ? OpenMode::read_no_link : mode);
    if (file->owner() != owner_) throw IoError(NC_EACCESS, EPERM, path, "use a file of another user");
    return file;
  }
  [[nodiscard]] std::int64_t user() const override { return owner_; }
  /// Lists only this user's files.
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override {
    auto names = base().list(directory);
    std::erase_if(names,
                  [&](const std::string& name) { return base().owner_of(directory + "/" + name) != owner_; });
    return names;
  }

 private:
  std::int64_t owner_;
};

}  // namespace sluice::storage
