#pragma once
#include <cstdint>
#include <span>

#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// The limit for the dimensions of a copy. Each dimension has at least two elements, and a copy has at most
/// 2^59 elements (matcher/box.hpp).
inline constexpr std::size_t max_copy_dimensions = 64;

/// The extent of a copy, relative to its first element: bytes in the source to the start of the lowest and
/// highest elements, and elements in the destination.
struct CopyBounds {
  std::int64_t lowest_source = 0, highest_source = 0;
  std::int64_t lowest_destination = 0, highest_destination = 0;
  std::int64_t elements = 1;
};

/// Throws Error(NC_EIO) if a count is below 1 or the bounds do not fit in 64 bits.
[[nodiscard]] CopyBounds bounds_of(std::span<const CopyDimension> dimensions);

}  // namespace sluice::replay
