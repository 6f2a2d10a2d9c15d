#pragma once
#include <cstdint>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// The most elements that a request can have: eight bytes each still have addresses below 2^62.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 59;

/// No index of a box reaches this: sums of two indexes and strides can be computed.
inline constexpr std::int64_t index_limit = std::int64_t{1} << 62;

/// The largest log offset of a request: its last byte still has an offset below 2^63.
inline constexpr std::uint64_t max_log_offset = std::uint64_t{1} << 62;

/// Whether the numbers of a box that comes from another process can be computed with: one start, count and
/// (unless there is none at all) stride per dimension, starts and counts not negative, strides at least 1,
/// the last index of every dimension below `index_limit`, at most `max_elements` elements.
[[nodiscard]] bool is_sound(const formats::HyperslabView& box) noexcept;

}  // namespace sluice::matcher
