#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::api {

/// Bytes at offsets, which every rank accesses by itself: those of a file (FileHandle), or of several
/// (FileSet). Both functions throw Error.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  /// What lies beyond the end of a file is read as zeros.
  virtual void read(std::int64_t offset_bytes, std::span<std::byte> bytes) const = 0;
  virtual void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const = 0;
};

}  // namespace sluice::api
