#pragma once
#include <string>
#include <vector>

#include "file_bytes.hpp"
#include "file_handle.hpp"
#include "mpi_handles.hpp"
#include "sluice/formats/file_space.hpp"

namespace sluice::api {

/// Several files, accessed by offsets in their common space. Each rank opens a file at its first access, so
/// the number of open files does not depend on the number of files.
class FileSet final : public FileBytes {
 public:
  /// `mode` is MPI's mode. Errors name the path of the file.
  FileSet(std::vector<std::string> paths, int mode, MPI_Info info);

  void use_space(formats::FileSpace space) { space_ = std::move(space); }
  void read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override;
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const override;

  /// One file, with its own offsets.
  [[nodiscard]] const FileHandle& file(int i) const;
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return paths_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(paths_.size()); }

  /// Moves all data that this rank wrote to storage.
  void sync() const;
  /// Closes all files that this rank has open.
  void close();

 private:
  std::vector<std::string> paths_;
  int mode_;
  InfoHandle info_;
  Communicator self_;
  formats::FileSpace space_;
  mutable std::vector<FileHandle> files_;  ///< opened when needed
  mutable std::vector<bool> is_open_;
};

}  // namespace sluice::api
