#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Gathers adjacent writes to a file into large ones.
class GatheredWrites {
 public:
  enum class Gaps {
    zeros,  ///< small gaps are written as zeros: the file is new, and nobody else writes to it
    kept,
  };

  /// `file` outlives this object. At most `window_bytes` are kept back.
  GatheredWrites(File& file, std::int64_t window_bytes, Gaps gaps = Gaps::zeros);

  /// Memory for the bytes of the file from `offset_bytes` on, at most window_bytes. Ascending order is best.
  /// Valid until the next call. Throws IoError.
  [[nodiscard]] std::span<std::byte> reserve(std::int64_t offset_bytes, std::int64_t bytes);
  /// Writes the bytes that are kept back. Throws IoError.
  void flush();

  /// The number of bytes written.
  [[nodiscard]] std::int64_t written_bytes() const noexcept { return written_bytes_; }

 private:
  File& file_;
  std::int64_t window_bytes_;
  std::int64_t most_gap_bytes_;
  std::unique_ptr<std::byte[]> window_;
  std::int64_t begin_ = 0;  ///< offset of the window in the file
  std::int64_t used_ = 0;
  std::int64_t written_bytes_ = 0;
};

}  // namespace sluice::storage
