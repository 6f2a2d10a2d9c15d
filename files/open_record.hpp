#pragma once
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::files {

/// `sluice init --trial` finds out by a record which files a program writes and reads: the file that
/// SLUICE_RECORD names gets a text for each call, "r PATH" for example, with absolute paths and '\0' at the
/// end. The letter:
enum class Recorded : char {
  read = 'r',          ///< also: got another name
  made = 'n',          ///< a name that is not there yet; also one that a file or directory gets
  made_by_mpi = 'i',   ///< the same by MPI-IO, which also makes files for itself
  written_anew = 'w',  ///< a file that is there, and whose contents go
  gone_on_with = 'a',  ///< a file that is there, that keeps its contents, and that nobody is writing
  joined = 'j',        ///< the same, but it is being written
  renamed = 'v',       ///< a name that is there, and that another file or directory gets
  asked = 's',         ///< by stat, access and the like; or removed
  listed = 'l',        ///< a directory
  entered = 'd',       ///< a directory became the working directory
  named = 'm',         ///< a directory, a link or a pipe was made
};
[[nodiscard]] bool is_recording() noexcept;

/// `path` from the directory of a descriptor on, or from the working directory (AT_FDCWD). Empty where that
/// cannot be found.
[[nodiscard]] std::string absolute_path(int directory, const char* path);

/// Appends a text. `directory`: of a descriptor, or AT_FDCWD. Leaves errno as it is. What cannot be recorded
/// is left out.
void record_open(int directory, const char* path, Recorded how) noexcept;
/// The same where calls are recorded.
inline void note_call(int directory, const char* path, Recorded how) noexcept {
  if (path != nullptr && is_recording()) record_open(directory, path, how);
}
/// A directory that was opened to be listed, by this path. An interpreter that looks for modules lists the
/// directory of its script first; that says nothing of the script. GDAL looks for files beside the one that
/// it has opened. `site`: an address of who has called; null: unknown.
void record_listing(int descriptor, const char* path, const void* site) noexcept;
/// Before a file is opened for writing with these flags: appends its text. MPI-IO opens a file in each rank,
/// and one of these opens may go on in the file: it counts as being written as long as the caller has what is
/// returned, which it gives up when the file is open.
[[nodiscard]] runtime::FileDescriptor record_open_for_writing(int directory, const char* path, int flags,
                                                              bool is_by_mpi_io) noexcept;

}  // namespace sluice::files
