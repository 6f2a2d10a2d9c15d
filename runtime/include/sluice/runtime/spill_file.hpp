#pragma once
#include <cstdint>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// A file for segments on disk: of `bytes` zero bytes in the directory, without a name, so that it is gone
/// with the last process that has it, and with all its room reserved, so that a write to its mapping never
/// finds the disk full (which would be SIGBUS). Close-on-exec. Throws IoError with what the directory lacks:
/// NC_ENO_SPACE when the disk or a quota is full.
[[nodiscard]] FileDescriptor create_spill_file(const std::string& directory, std::uint64_t bytes);

/// Reserves a range of zero bytes in it, beyond its end where it is not so long. Throws as
/// create_spill_file(); the range then takes no room.
void reserve_in_spill_file(const FileDescriptor& file, const std::string& directory,
                           std::uint64_t offset_bytes, std::uint64_t bytes);

/// Gives a range of any segments' file back to the system. False: its file system cannot do that.
bool punch_hole(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes) noexcept;

/// Whether segments can be made there; makes one. Throws what create_spill_file() throws. True: ranges of a
/// file can be given back.
bool probe_spill_directory(const std::string& directory);

}  // namespace sluice::runtime
