#pragma once
#include <cstddef>
#include <string>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// The system's files. It has no state: create one wherever it is needed.
class PosixFileSystem final : public FileSystem {
 public:
  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] bool exists(const std::string& path) override;
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override;
  [[nodiscard]] std::int64_t user() const override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override;
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& directory) override;
  void sync_directory(const std::string& directory) override;
};

/// The path without MPI-IO's file-system prefix ("ufs:dir/x.nc" is "dir/x.nc").
[[nodiscard]] std::string without_prefix(const std::string& path);

/// Prepares the path for a new file. Empties an existing file, or throws NC_EEXIST if `keeps_existing`.
/// Throws IoError with PnetCDF's codes.
void prepare_creation(const std::string& path, bool keeps_existing);

/// Whether the file system of the file lacks space for that many more bytes.
[[nodiscard]] bool is_out_of_space(const std::string& path, std::size_t bytes) noexcept;

/// Whether the file is on a file system of this machine (not NFS, Lustre, …), where small accesses are cheap.
[[nodiscard]] bool is_on_local_file_system(const std::string& path) noexcept;

}  // namespace sluice::storage
