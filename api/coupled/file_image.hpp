#pragma once
#include <cstddef>

namespace sluice::api {

/// For libsluice_files.so, in a process that uses MPI: the file at `path` for a program that opens it by the
/// C library. Waits until it is published. Gives a descriptor of its image, or a runtime::FoundFile; for
/// is_on_disk the path of the file is in `on_disk`, which has `capacity` bytes. `purpose`: a
/// runtime::FindPurpose.
[[nodiscard]] int find_file(const char* path, char* on_disk, std::size_t capacity, int purpose) noexcept;

}  // namespace sluice::api
