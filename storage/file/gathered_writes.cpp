#include "sluice/storage/gathered_writes.hpp"

#include <cstring>

namespace sluice::storage {

namespace {
constexpr std::int64_t small_gap_bytes = 4096;
}

GatheredWrites::GatheredWrites(File& file, std::int64_t window_bytes, Gaps gaps)
    : file_(file),
      window_bytes_(window_bytes),
      most_gap_bytes_(gaps == Gaps::zeros ? small_gap_bytes : 0),
      window_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(window_bytes))) {}

std::span<std::byte> GatheredWrites::reserve(std::int64_t offset_bytes, std::int64_t bytes) {
  const std::int64_t gap = offset_bytes - (begin_ + used_);
  if (used_ == 0 || gap < 0 || gap > most_gap_bytes_ || used_ + gap + bytes > window_bytes_) {
    flush();
    begin_ = offset_bytes;
  } else {
    std::memset(window_.get() + used_, 0, static_cast<std::size_t>(gap));
    used_ += gap;
  }
  std::byte* const first = window_.get() + used_;
  used_ += bytes;
  return {first, static_cast<std::size_t>(bytes)};
}

void GatheredWrites::flush() {
  if (used_ == 0) return;
  file_.write(begin_, {window_.get(), static_cast<std::size_t>(used_)});
  written_bytes_ += used_;
  used_ = 0;
}

}  // namespace sluice::storage
