#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "file_bytes.hpp"
#include "mpi_handles.hpp"

namespace sluice::api {

/// A file that all ranks of a communicator have opened for MPI-IO. It uses explicit offsets and contiguous
/// types only, and never sets a file view. Errors are MpiErrors that name the path.
class FileHandle final : public FileBytes {
 public:
  FileHandle() = default;
  /// Collective. `mode` is MPI's mode (MPI_MODE_RDWR | MPI_MODE_CREATE, …). A path may have any length.
  [[nodiscard]] static FileHandle open(const Communicator& comm, const std::string& path, int mode,
                                       MPI_Info info);

  FileHandle(FileHandle&& other) noexcept { swap(other); }
  FileHandle& operator=(FileHandle&& other) noexcept {
    swap(other);
    return *this;
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  /// Closes a file that is still open, as a safety net. Collective like close().
  ~FileHandle() override;

  /// Independent. Bytes beyond the end of the file read as zeros.
  void read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override;
  /// Independent.
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const override;
  /// Independent: the size that this process sees.
  [[nodiscard]] std::int64_t size_bytes() const;
  /// Extends the file with zeros, or truncates it.
  void resize(std::int64_t size_bytes) const;
  /// Collective: moves all written data to storage and makes it visible to other processes.
  void sync() const;
  /// Collective. Does nothing if the file is not open.
  void close();

  /// The hints that MPI has in force for the file.
  [[nodiscard]] std::map<std::string, std::string> hints() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void swap(FileHandle& other) noexcept;

  MPI_File file_ = MPI_FILE_NULL;
  std::string path_;
};

}  // namespace sluice::api
