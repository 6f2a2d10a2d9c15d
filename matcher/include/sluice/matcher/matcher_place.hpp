#pragma once
#include <compare>
#include <cstdint>

namespace sluice::matcher {

using SegmentId = std::uint64_t;

/// Which matcher: its node, and which of that node's matchers it is, both from 0.
struct MatcherPlace {
  std::uint32_t node = 0;
  std::uint32_t index = 0;
  auto operator<=>(const MatcherPlace&) const = default;
};

inline constexpr std::uint32_t max_nodes = 1U << 16;
inline constexpr std::uint32_t max_matchers_of_a_node = 1U << 10;

/// Of a segment on disk.
inline constexpr SegmentId spilled_bit = SegmentId{1} << 37;

/// A segment's id says which matcher owns it, and whether it is on disk: 16 bits of node, 10 of index, one
/// for that, 37 of a number that the node never uses again.
[[nodiscard]] constexpr SegmentId segment_id(MatcherPlace owner, std::uint64_t number) noexcept {
  return SegmentId{owner.node} << 48 | SegmentId{owner.index} << 38 | number;
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
