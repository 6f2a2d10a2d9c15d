#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// What a file system is asked to do, in order. `bytes`: how many a read, write or reserve is about.
struct FileOperation {
  enum class Kind { open, remove, rename, list, sync_directory, read, write, resize, reserve, sync, close };
  Kind kind{};
  std::string path;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
};

/// What becomes of an operation.
struct Fault {
  int error_number = 0;            ///< 0: it is done as it should be
  std::int64_t bytes_written = 0;  ///< of a write that fails: how many of its bytes arrive all the same
};

/// Another file system that fails where `decide` says so: a full disk, a device that dies, a torn write. It
/// is asked before each operation, which makes it a recorder of what is done and when, too.
class FaultyFileSystem final : public FileSystem {
 public:
  using Decide = std::function<Fault(const FileOperation&)>;

  /// `base` outlives this.
  FaultyFileSystem(FileSystem& base, Decide decide) : base_(base), decide_(std::move(decide)) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] bool exists(const std::string& path) override { return base_.exists(path); }
  [[nodiscard]] std::int64_t modified_ns(const std::string& path) override { return base_.modified_ns(path); }
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override {
    return base_.owner_of(path);
  }
  [[nodiscard]] std::int64_t user() const override { return base_.user(); }
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override;
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& directory) override {
    return base_.capacity_bytes(directory);
  }
  void sync_directory(const std::string& directory) override;

 private:
  FileSystem& base_;
  Decide decide_;
};

}  // namespace sluice::storage
