#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// The order (indexes into `reads`, all of the same variable) in which the reads begin ascending in the
/// variable's row-major order: very many reads matched in that order find what they need in the processor's
/// caches. Empty when they are few, come in that order already, or cannot be ordered.
[[nodiscard]] std::vector<std::uint32_t> ascending_order(std::span<const formats::HyperslabView> reads);

}  // namespace sluice::matcher
