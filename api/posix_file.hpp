#pragma once
// What one rank does to a file before MPI-IO opens it for all: precise errors, and the header's bytes.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::api {

/// A POSIX descriptor that this object owns.
class PosixFile {
 public:
  PosixFile() = default;
  /// For reading. Throws IoError: NC_ENOENT, NC_EACCESS, NC_EBAD_FILE, NC_EFILE.
  [[nodiscard]] static PosixFile open(const std::string& path);
  /// For reading, or as far as the permissions go; not open where that fails. Does not throw.
  [[nodiscard]] static PosixFile open_or_create(const std::string& path, bool creates,
                                                bool is_exclusive) noexcept;

  PosixFile(PosixFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PosixFile& operator=(PosixFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile();

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Throws IoError.
  [[nodiscard]] std::int64_t size_bytes(const std::string& path) const;
  /// Bytes read: fewer than asked for at the end of the file. Throws IoError(NC_EREAD).
  [[nodiscard]] std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes,
                                 const std::string& path) const;

 private:
  int descriptor_ = -1;
};

/// The path without MPI-IO's prefix of a file system ("ufs:dir/x.nc" is "dir/x.nc").
[[nodiscard]] std::string without_prefix(const std::string& path);

/// Makes way for a new file: an existing one is cut to no bytes, or is NC_EEXIST where it `keeps_existing`.
/// Throws IoError with PnetCDF's codes.
void prepare_creation(const std::string& path, bool keeps_existing);

/// Throws IoError: NC_ENOENT, NC_EACCESS, …
void remove_file(const std::string& path);

/// Whether the file system of the file has no room for that many bytes more.
[[nodiscard]] bool is_out_of_space(const std::string& path, std::size_t bytes) noexcept;

/// Whether the file is on a file system of this machine, where small accesses are cheap: not NFS, Lustre, …
[[nodiscard]] bool is_on_local_file_system(const std::string& path) noexcept;

}  // namespace sluice::api
