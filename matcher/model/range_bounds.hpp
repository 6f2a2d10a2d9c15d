#pragma once
#include <cstdint>

#include "sluice/matcher/log_range.hpp"

namespace sluice::matcher {

/// Whether a range of a log lies within its segment of `segment_bytes`, and its log offsets do not overflow.
[[nodiscard]] inline bool lies_within(const LogRange& range, std::uint64_t segment_bytes) noexcept {
  return range.segment_offset <= segment_bytes &&
         range.length_bytes <= segment_bytes - range.segment_offset &&
         range.log_offset <= ~std::uint64_t{0} - range.length_bytes;
}

}  // namespace sluice::matcher
