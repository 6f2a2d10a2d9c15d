#pragma once
#include <compare>
#include <cstdint>

namespace sluice::matcher {

using SegmentId = std::uint64_t;

/// The place of a matcher: its node, and its index among the matchers of that node. Both count from 0.
struct MatcherPlace {
  std::uint32_t node = 0;
  std::uint32_t index = 0;
  auto operator<=>(const MatcherPlace&) const = default;
};

inline constexpr std::uint32_t max_nodes = 1U << 16;
inline constexpr std::uint32_t max_matchers_of_a_node = 1U << 10;

/// The bit that marks a segment on disk.
inline constexpr SegmentId spilled_bit = SegmentId{1} << 37;

/// The id of a segment names the matcher that owns it, and its medium. It has 16 bits of node, 10 bits of
/// index and one bit for disk. The other 37 bits are a number that the node never reuses.
[[nodiscard]] constexpr SegmentId segment_id(MatcherPlace owner, std::uint64_t number) noexcept {
  return SegmentId{owner.node} << 48 | SegmentId{owner.index} << 38 | number;
}
/// The number of a segment on its node, which grows with each segment that the node makes.
[[nodiscard]] constexpr std::uint64_t number_of(SegmentId segment) noexcept {
  return segment & (spilled_bit - 1);
}
[[nodiscard]] constexpr bool is_spilled(SegmentId segment) noexcept {
  return (segment & spilled_bit) != 0;
}
[[nodiscard]] constexpr MatcherPlace owner_of(SegmentId segment) noexcept {
  return {static_cast<std::uint32_t>(segment >> 48),
          static_cast<std::uint32_t>(segment >> 38) & (max_matchers_of_a_node - 1)};
}
[[nodiscard]] constexpr std::uint32_t node_of(SegmentId segment) noexcept {
  return owner_of(segment).node;
}

}  // namespace sluice::matcher
