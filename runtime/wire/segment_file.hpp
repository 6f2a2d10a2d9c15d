#pragma once
#include <cstdint>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Throws the errors that all files behind segments in memory share: IoError by errno, NC_ENO_SPACE,
/// NC_ENFILE or NC_EIO.
[[noreturn]] void fail_segment(const std::string& action);

/// Extends an empty file to `bytes` zero bytes. Throws as fail_segment().
void set_segment_size(const FileDescriptor& file, std::uint64_t bytes);

}  // namespace sluice::runtime
