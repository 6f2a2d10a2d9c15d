#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "file_bytes.hpp"
#include "mpi_handles.hpp"

namespace sluice::api {

/// A file that all ranks of a communicator have opened for MPI-IO. Bytes are read and written at explicit
/// offsets with contiguous types only; no file view is ever set. Errors are MpiErrors that name the path.
class FileHandle final : public FileBytes {
 public:
  FileHandle() = default;
  /// Collective. `mode` is MPI's (MPI_MODE_RDWR | MPI_MODE_CREATE, …). Paths of any length are taken.
  [[nodiscard]] static FileHandle open(const Communicator& comm, const std::string& path, int mode,
                                       MPI_Info info);

  FileHandle(FileHandle&& other) noexcept { swap(other); }
  FileHandle& operator=(FileHandle&& other) noexcept {
    swap(other);
    return *this;
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  /// Closes a file that was not closed: the safety net; collective as close() is.
  ~FileHandle() override;

  /// Independent. What lies beyond the end of the file is read as zeros.
  void read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override;
  /// Independent.
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const override;
  /// Independent: as far as this process sees.
  [[nodiscard]] std::int64_t size_bytes() const;
  /// Lengthens it by zeros, or cuts it.
  void resize(std::int64_t size_bytes) const;
  /// Collective: what was written is on storage and visible to other processes.
  void sync() const;
  /// Collective. Does nothing when the file is not open.
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
