#pragma once
#include <string>

namespace sluice::files {

/// `sluice init --trial` finds out by a record which files a program writes and reads: the file that
/// SLUICE_RECORD names gets a line for each open, "r PATH" for example, with absolute paths. The letter:
enum class Recorded : char {
  read = 'r',
  made = 'n',          ///< a name that is not there yet; also one that another file gets by a rename
  written_anew = 'w',  ///< the same, where there is such a file
  gone_on_with = 'a',  ///< a file that is there, that keeps its contents, and that nobody is writing
  joined = 'j',        ///< the same, but it is being written
};
[[nodiscard]] bool is_recording() noexcept;

/// `path` from the directory of a descriptor on, or from the working directory (AT_FDCWD). Empty where that
/// cannot be found.
[[nodiscard]] std::string absolute_path(int directory, const char* path);

/// Appends a line. `directory`: of a descriptor, or AT_FDCWD. Leaves errno as it is. What cannot be recorded
/// is left out.
void record_open(int directory, const char* path, Recorded how) noexcept;
/// Before a file is opened for writing with these flags: appends a line. MPI-IO opens a file in each rank,
/// and in some ranks only after the first one has closed it, so its opens never count as those that go on.
void record_open_for_writing(int directory, const char* path, int flags, bool is_by_mpi_io) noexcept;

}  // namespace sluice::files
