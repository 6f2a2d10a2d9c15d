#pragma once
#include <cstdint>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// What the files behind segments in memory have in common. Throws IoError by errno: NC_ENO_SPACE, NC_ENFILE
/// or NC_EIO.
[[noreturn]] void fail_segment(const std::string& action);

/// Makes an empty file one of `bytes` zero bytes. Throws as fail_segment().
void set_segment_size(const FileDescriptor& file, std::uint64_t bytes);

}  // namespace sluice::runtime
