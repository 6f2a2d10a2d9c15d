#pragma once

namespace sluice::files {

/// For `sluice verify`, which compares what two runs of a program have read by the C library: the directory
/// that SLUICE_RECORD_VALUES names has the record `files`. Format: docs/design/verifying-a-run.md.
[[nodiscard]] bool records_files() noexcept;

/// The program has opened the path for reading, as `file`: appends a line with a fingerprint of all its
/// bytes, if a rule in SLUICE_RECORD_READS covers the path. `may_write`: it has opened it for writing, too;
/// that counts where another component writes the file. `directory`: of a descriptor, or AT_FDCWD. Leaves
/// errno as it is. What cannot be recorded is left out.
void record_read(int directory, const char* path, int file, bool may_write) noexcept;
/// The program has opened the path for writing. `may_only_read`: or for reading alone, where another
/// component writes the file.
void record_written(int directory, const char* path, bool may_only_read) noexcept;

}  // namespace sluice::files
