#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "file_access.hpp"
#include "file_bytes.hpp"

namespace sluice::api {

/// Uninitialised memory that grows and is used again.
class ByteBuffer {
 public:
  /// At least that many bytes; what was there is lost when it has to grow.
  std::byte* reserve(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

/// A range of a file in memory: what is written is collected here, what is read arrives here. An element that
/// begins in the range may end a little behind it.
class StagingWindow {
 public:
  /// Moves the window to another range; its bytes are undefined.
  void move_to(const FileRange& range);
  [[nodiscard]] const FileRange& range() const noexcept { return range_; }
  [[nodiscard]] std::byte* at(std::int64_t offset_bytes) const noexcept {
    return bytes_.data() + (offset_bytes - range_.begin);
  }

  /// Writes, or reads, the bytes of this range, which is within the window's but for an element's end.
  void write(const FileBytes& file, const FileRange& range) const;
  void read(const FileBytes& file, const FileRange& range) const;
  /// Writes the bytes of these ranges (ascending, disjoint). Gaps of at most `gap_bytes` are bridged: read
  /// from the file and written back. That is safe only where no other process writes to them; 0 writes each
  /// range alone.
  void write(const FileBytes& file, std::span<const FileRange> ranges, std::int64_t gap_bytes);
  /// Reads the bytes of these ranges, gaps of at most `gap_bytes` along with them.
  void read(const FileBytes& file, std::span<const FileRange> ranges, std::int64_t gap_bytes);

 private:
  /// Fills the gaps between the ranges from the file.
  void fill_gaps(const FileBytes& file, std::span<const FileRange> ranges);

  FileRange range_;
  ByteBuffer bytes_;
  ByteBuffer old_bytes_;
};

}  // namespace sluice::api
