#pragma once
#include <cstddef>

namespace sluice::api {

/// For libsluice_files.so, in a process that uses MPI: the file at `path` for a program that opens it by the
/// C library. Waits until it is published. Gives a descriptor of its image, or a runtime::FoundFile; for
/// is_on_disk the path of the file is in `on_disk`, which has `capacity` bytes. `purpose`: a
/// runtime::FindPurpose.
[[nodiscard]] int find_file(const char* path, char* on_disk, std::size_t capacity, int purpose) noexcept;

/// The same for an exchange about a file that the process writes or changes by the C library: the fields of a
/// message, and those of its answer. Returns an NC_* status. `room`: of the answer, and then its bytes;
/// `descriptor`: one that came with it, or -1.
[[nodiscard]] int ask_matcher(int type, const void* fields, std::size_t bytes, void* answer,
                              std::size_t* room, int* descriptor) noexcept;

}  // namespace sluice::api
