#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Files in memory, for tests and benchmarks. Directories are not kept: any path will do.
class MemoryFileSystem final : public FileSystem {
 public:
  using Bytes = std::vector<std::byte>;

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] bool exists(const std::string& path) override { return files_.count(path) != 0; }
  [[nodiscard]] std::int64_t modified_ns(const std::string&) override { return 0; }
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override;
  [[nodiscard]] std::int64_t user() const override { return user_; }
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override;
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& /*directory*/) override { return capacity; }
  void sync_directory(const std::string&) override {}

  /// The file's bytes, to look at and to damage. Throws IoError(NC_ENOENT).
  [[nodiscard]] Bytes& bytes(const std::string& path);
  std::int64_t capacity = std::int64_t{1} << 30;  ///< what capacity_bytes() says
  /// Who makes files from now on, and looks at them.
  void act_as(std::int64_t user) noexcept { user_ = user; }
  /// What a file is beside its name; who has it open has it for himself when it has none any more.
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
