#pragma once
#include <sys/types.h>

#include <ctime>
#include <optional>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/protocol.hpp"
#include "user_rights.hpp"

namespace sluice::runtime {

/// What changes when a file on disk is written.
struct FileState {
  off_t bytes = 0;
  timespec changed{};
  bool operator==(const FileState& other) const noexcept {
    return bytes == other.bytes && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

/// Throws IoError.
[[nodiscard]] FileState state_of(const FileDescriptor& file);

/// A file on disk that a program writes there itself: docs/design/names-and-places.md.
struct FileInPlace {
  FileDescriptor file;              ///< for reading
  std::optional<FileState> before;  ///< of what was there; empty: the file is new
  /// The kernel knows of everybody who has it open for writing. On file systems of several machines it does
  /// not, or it is not said.
  bool is_told = false;
  int trouble = 0;  ///< errno: there is no file

  /// Opens the file, or makes it, as the program wants it. Its bytes stay until the program gets it. Throws
  /// IoError.
  [[nodiscard]] static FileInPlace open(const OpenFile& request, const UserRights* user);
};

}  // namespace sluice::runtime
