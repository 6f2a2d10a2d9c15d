#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Gathers neighbours among what is written to a file into large writes.
class GatheredWrites {
 public:
  enum class Gaps {
    zeros,  ///< small ones are written as zeros: the file is new, and nobody else writes to it
    kept,
  };

  /// `file` outlives this. At most `window_bytes` are kept back.
  GatheredWrites(File& file, std::int64_t window_bytes, Gaps gaps = Gaps::zeros);

  /// Where to put the bytes of the file from `offset_bytes` on, at most window_bytes of them. Best in
  /// ascending order. Valid until the next call. Throws IoError.
  [[nodiscard]] std::span<std::byte> room(std::int64_t offset_bytes, std::int64_t bytes);
  /// Writes what is kept back. Throws IoError.
  void flush();

  /// Bytes that have been written.
  [[nodiscard]] std::int64_t written_bytes() const noexcept { return written_bytes_; }

 private:
  File& file_;
  std::int64_t window_bytes_;
  std::int64_t most_gap_bytes_;
  std::unique_ptr<std::byte[]> window_;
  std::int64_t begin_ = 0;  ///< of the window in the file
  std::int64_t used_ = 0;
  std::int64_t written_bytes_ = 0;
};

}  // namespace sluice::storage
