#pragma once
#include <cstdint>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// The largest number of elements of a request. With eight bytes for each element, addresses stay below 2^62.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 59;

/// All indexes of a box are below this limit, so that sums of two indexes and strides do not overflow.
inline constexpr std::int64_t index_limit = std::int64_t{1} << 62;

/// The largest log offset of a request: its last byte still has an offset below 2^63.
inline constexpr std::uint64_t max_log_offset = std::uint64_t{1} << 62;

/// Whether the numbers of a box from another process are safe to compute with. There is one start, count and
/// stride for each dimension (or no strides at all). Starts and counts are not negative, and strides are at
/// least 1. The last index of every dimension is below `index_limit`. The box has at most `max_elements`
/// elements.
[[nodiscard]] bool is_sound(const formats::HyperslabView& box) noexcept;

}  // namespace sluice::matcher
