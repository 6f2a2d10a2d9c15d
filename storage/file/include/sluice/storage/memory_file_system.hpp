#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Files in memory, for tests and benchmarks. It has no directories: any path is valid.
class MemoryFileSystem final : public FileSystem {
 public:
  using Bytes = std::vector<std::byte>;

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] bool exists(const std::string& path) override { return files_.count(path) != 0; }
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override;
  [[nodiscard]] std::int64_t user() const override { return user_; }
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override;
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& /*directory*/) override { return capacity; }
  void sync_directory(const std::string&) override {}

  /// The file's bytes, which a test may inspect and damage. Throws IoError(NC_ENOENT).
  [[nodiscard]] Bytes& bytes(const std::string& path);
  std::int64_t capacity = std::int64_t{1} << 30;  ///< the result of capacity_bytes()
  /// Sets the user who creates and accesses files from now on.
  void act_as(std::int64_t user) noexcept { user_ = user; }
  /// The content of a file, without its name. An open file keeps its content after its name is removed.
  struct Contents {
    Bytes bytes;
    std::int64_t owner = 0;
    std::string mark;
    bool is_locked = false;
    bool is_removed = false;
  };

 private:
  std::map<std::string, std::shared_ptr<Contents>> files_;
  std::int64_t user_ = 0;
};

}  // namespace sluice::storage
