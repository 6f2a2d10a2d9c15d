#pragma once

namespace sluice::files {

/// What a process whose component only reads a path may do with it.
enum class ReaderChange { to_disk, removed, refused };

/// The process is about to open the file for writing, to cut it, or to put another one in its place. Never
/// `removed`. `directory`: of a descriptor, or AT_FDCWD. Leaves errno as it is.
[[nodiscard]] ReaderChange change_as_reader(int directory, const char* path) noexcept;
/// The process is about to remove the file. `removed`: it was told to the run, and there is none on disk.
[[nodiscard]] ReaderChange remove_as_reader(int directory, const char* path) noexcept;

}  // namespace sluice::files
