#pragma once

namespace sluice::files {

/// `sluice init --trial` finds out by a record which files a program writes and reads: the file that
/// SLUICE_RECORD names gets a line for each open, "w PATH" or "r PATH", with absolute paths.
[[nodiscard]] bool is_recording() noexcept;

/// Appends a line. `directory`: of a descriptor, or AT_FDCWD. Leaves errno as it is. What cannot be recorded
/// is left out.
void record_open(int directory, const char* path, bool writes) noexcept;

}  // namespace sluice::files
