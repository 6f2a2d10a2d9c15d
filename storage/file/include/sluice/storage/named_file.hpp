#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "sluice/formats/error.hpp"
#include "sluice/storage/file_descriptor.hpp"

namespace sluice::storage {

/// A new file that has a name as long as this object lives: HDF5 opens files by their names.
class NamedFile {
 public:
  /// Throws IoError.
  explicit NamedFile(const std::string& directory = "/dev/shm")
      : path_(directory + "/sluice-netcdf4-XXXXXX") {
    file_.reset(::mkostemp(path_.data(), O_CLOEXEC));
    if (!file_) throw IoError(NC_EFILE, errno, path_, "make");
  }
  ~NamedFile() { (void)::unlink(path_.c_str()); }
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int number() const noexcept { return file_.number(); }
  /// The file without its name.
  [[nodiscard]] FileDescriptor take() noexcept { return std::move(file_); }

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace sluice::storage
