#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "sluice/storage/forwarding_file_system.hpp"

namespace sluice::storage {

/// An operation that a file system is asked to do, in order. `bytes`: the size of a read, write or reserve.
struct FileOperation {
  enum class Kind { open, remove, rename, list, sync_directory, read, write, resize, reserve, sync, close };
  Kind kind{};
  std::string path;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
};

/// The result that a test chooses for an operation.
struct Fault {
  int error_number = 0;            ///< 0: the operation succeeds
  std::int64_t bytes_written = 0;  ///< for a failing write: the number of bytes that are written nevertheless
};

/// Wraps another file system and fails when `decide` says so: a full disk, a dying device, a torn write. It
/// calls `decide` before each operation, so `decide` can also record all operations in order.
class FaultyFileSystem final : public ForwardingFileSystem {
 public:
  using Decide = std::function<Fault(const FileOperation&)>;

  /// `base` outlives this object.
  FaultyFileSystem(FileSystem& base, Decide decide)
      : ForwardingFileSystem(base), decide_(std::move(decide)) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override;
  void sync_directory(const std::string& directory) override;

 private:
  Decide decide_;
};

}  // namespace sluice::storage
