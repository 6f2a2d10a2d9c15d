#pragma once
#include <string>

namespace sluice::files {

/// `sluice init --trial` finds out by a record which files a program writes and reads: the file that
/// SLUICE_RECORD names gets a line for each open, "w PATH" or "r PATH", with absolute paths.
[[nodiscard]] bool is_recording() noexcept;

/// `path` from the directory of a descriptor on, or from the working directory (AT_FDCWD). Empty where that
/// cannot be found.
[[nodiscard]] std::string absolute_path(int directory, const char* path);

/// Appends a line. `directory`: of a descriptor, or AT_FDCWD. Leaves errno as it is. What cannot be recorded
/// is left out.
void record_open(int directory, const char* path, bool writes) noexcept;

}  // namespace sluice::files
