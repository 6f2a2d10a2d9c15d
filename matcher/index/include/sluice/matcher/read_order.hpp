#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// Returns indexes into `reads`, sorted so that the reads begin in ascending row-major order. All `reads` are
/// of the same variable. In this order, very many reads find their write requests in the processor's caches.
/// Returns nothing when the reads are few, are already in that order, or cannot be ordered.
[[nodiscard]] std::vector<std::uint32_t> ascending_order(std::span<const formats::HyperslabView> reads);

}  // namespace sluice::matcher
