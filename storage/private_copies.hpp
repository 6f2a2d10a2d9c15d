#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::storage {

/// A file system in which files that are opened for writing are copied first: the files themselves stay as
/// they are until all copies take their places.
class PrivateCopies final : public FileSystem {
 public:
  /// `base` outlives this.
  explicit PrivateCopies(FileSystem& base) : base_(base) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] bool exists(const std::string& path) override { return base_.exists(path); }
  [[nodiscard]] std::int64_t modified_ns(const std::string& path) override { return base_.modified_ns(path); }
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override {
    return base_.owner_of(path);
  }
  [[nodiscard]] std::int64_t user() const override { return base_.user(); }
  void remove(const std::string& path) override { base_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { base_.rename(from, to); }
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override {
    return base_.list(directory);
  }
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& directory) override {
    return base_.capacity_bytes(directory);
  }
  void sync_directory(const std::string& directory) override { base_.sync_directory(directory); }

  /// The copies take their places, the first one last. What was written has been synced.
  void publish();

 private:
  FileSystem& base_;
  std::vector<std::unique_ptr<PartialFile>> copies_;
  std::map<std::string, PartialFile*> copy_of_;
};

/// All of a file, and its mark.
void copy_contents(const File& from, File& to);

}  // namespace sluice::storage
