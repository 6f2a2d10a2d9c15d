#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "file_access.hpp"
#include "file_bytes.hpp"

namespace sluice::api {

/// Reusable uninitialised memory that grows on demand.
class ByteBuffer {
 public:
  /// Returns at least `bytes` bytes. The content is lost if the buffer grows.
  std::byte* reserve(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

/// A range of a file in memory: puts collect data in it, gets read from it. An element that begins in the
/// range may end a few bytes behind it.
class StagingWindow {
 public:
  /// Moves the window to another range; its bytes are undefined.
  void move_to(const FileRange& range);
  [[nodiscard]] const FileRange& range() const noexcept { return range_; }
  [[nodiscard]] std::byte* at(std::int64_t offset_bytes) const noexcept {
    return bytes_.data() + (offset_bytes - range_.begin);
  }

  /// Writes or reads the bytes of this range. Except for the end of an element, the range lies in the window.
  void write(const FileBytes& file, const FileRange& range) const;
  void read(const FileBytes& file, const FileRange& range) const;
  /// Writes the bytes of these ascending, disjoint ranges. Gaps of at most `gap_bytes` are read from the file
  /// and written back. This is safe only if no other process writes to the gaps; with 0 each range is written
  /// alone.
  void write(const FileBytes& file, std::span<const FileRange> ranges, std::int64_t gap_bytes);
  /// Reads the bytes of these ranges, and gaps of at most `gap_bytes`.
  void read(const FileBytes& file, std::span<const FileRange> ranges, std::int64_t gap_bytes);

 private:
  /// Fills the gaps between the ranges from the file.
  void fill_gaps(const FileBytes& file, std::span<const FileRange> ranges);

  FileRange range_;
  ByteBuffer bytes_;
  ByteBuffer old_bytes_;
};

}  // namespace sluice::api
