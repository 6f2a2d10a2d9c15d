#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/storage/forwarding_file_system.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::storage {

/// A file system that reads only one user's files, and no file by a symbolic link. It protects against files
/// that other users put into a shared directory.
class OwnedFiles final : public ForwardingFileSystem {
 public:
  /// `base` outlives this object.
  OwnedFiles(FileSystem& base, std::int64_t owner) : ForwardingFileSystem(base), owner_(owner) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] std::int64_t user() const override { return owner_; }
  /// Lists only this user's files.
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override;

 private:
  std::int64_t owner_;
};

/// A file system that copies files before it opens them for writing. The originals stay unchanged until all
/// copies replace them.
class PrivateCopies final : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;

  /// Replaces the originals by the copies; the first copy comes last. Written data has been synced.
  void publish();

 private:
  std::vector<std::unique_ptr<PartialFile>> copies_;
  std::map<std::string, PartialFile*> copy_of_;
};

/// Copies a whole file and its mark.
void copy_contents(const File& from, File& to);

}  // namespace sluice::storage
