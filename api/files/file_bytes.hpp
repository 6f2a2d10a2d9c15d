#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::api {

/// Bytes at offsets of one file (FileHandle) or several files (FileSet). Every rank accesses them
/// independently. Both functions throw Error.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  /// Bytes beyond the end of a file read as zeros.
  virtual void read(std::int64_t offset_bytes, std::span<std::byte> bytes) const = 0;
  virtual void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const = 0;
};

}  // namespace sluice::api
