#pragma once
#include <cstdint>
#include <span>

#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// No copy has more dimensions: each has at least two elements, and there are at most 2^59 (matcher/box.hpp).
inline constexpr std::size_t max_copy_dimensions = 64;

/// How far a copy reaches, from its first element: bytes in the source to the first of its elements that lie
/// lowest and highest, elements in the destination.
struct CopyBounds {
  std::int64_t lowest_source = 0, highest_source = 0;
  std::int64_t lowest_destination = 0, highest_destination = 0;
  std::int64_t elements = 1;
};

/// Throws Error(NC_EIO) when a count is below 1 or the bounds cannot be computed with 64 bits.
[[nodiscard]] CopyBounds bounds_of(std::span<const CopyDimension> dimensions);

}  // namespace sluice::replay
