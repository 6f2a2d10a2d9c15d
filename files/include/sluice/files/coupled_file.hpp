#pragma once
#include <string>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::files {

/// What a path leads to.
struct CoupledFile {
  enum class Kind { ordinary, image, on_disk, failed };
  Kind kind = Kind::ordinary;
  runtime::FileDescriptor image = {};  ///< of a memory file, to be opened anew by /proc/self/fd
  std::string path = {};               ///< of the file on disk that has the bytes
  int error_number = 0;
  std::uint32_t names = 1;  ///< that the image has
};

/// The file at `path`, from the directory of a descriptor (AT_FDCWD: the working directory) on. Where a rule
/// covers it that this component reads by, it waits until the file is published. In a process that uses MPI
/// the client library finds it, for which the files that PnetCDF's own calls open are ordinary ones.
/// `site`: the place in the program that opens the file; null: it only asks for facts.
[[nodiscard]] CoupledFile find_coupled_file(int directory, const char* path, const void* site) noexcept;

/// The names of the published coupled files in the directory that this descriptor is of: those that
/// find_coupled_file() would find without a wait, and those that the component writes. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> find_coupled_names(int directory);

}  // namespace sluice::files
