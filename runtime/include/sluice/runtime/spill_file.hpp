#pragma once
#include <cstdint>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// A segment on disk: a file of `bytes` zero bytes in the directory, without a name, so that it is gone with
/// the last process that has it, and with all its room reserved, so that a write to its mapping never finds
/// the disk full (which would be SIGBUS). Close-on-exec. Throws IoError with what the directory lacks:
/// NC_ENO_SPACE when the disk or a quota is full.
[[nodiscard]] FileDescriptor create_spill_file(const std::string& directory, std::uint64_t bytes);

/// Whether segments can be made there; makes one. Throws what create_spill_file() throws.
void probe_spill_directory(const std::string& directory);

}  // namespace sluice::runtime
