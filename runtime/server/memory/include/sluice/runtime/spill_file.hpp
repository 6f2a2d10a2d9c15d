#pragma once
#include <cstdint>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Makes a file of `bytes` zero bytes in the directory for segments on disk, close-on-exec. The file has no
/// name, so it disappears with the last process that has it. All its space is reserved, so a write to its
/// mapping never finds the disk full (which would be SIGBUS). Throws IoError that says what the directory
/// lacks: NC_ENO_SPACE when the disk or a quota is full.
[[nodiscard]] FileDescriptor create_spill_file(const std::string& directory, std::uint64_t bytes);

/// Reserves a range of zero bytes in the file, also beyond its end. Throws as create_spill_file(); the range
/// then takes no space.
void reserve_in_spill_file(const FileDescriptor& file, const std::string& directory,
                           std::uint64_t offset_bytes, std::uint64_t bytes);

/// Throws IoError(NC_ENO_SPACE) where the directory's file system would have less free space than its reserve
/// without `bytes`: a tenth of it, and at least 1 GiB.
void keep_spill_reserve(const std::string& directory, std::uint64_t bytes);

/// Returns a range of any segment file to the system. Returns false when the file system cannot do that.
bool punch_hole(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes) noexcept;

/// Makes a segment to check that the directory is usable. Returns whether ranges of a file can be returned.
/// Throws as create_spill_file().
bool probe_spill_directory(const std::string& directory);

}  // namespace sluice::runtime
