#pragma once
#include <cstdint>

#include "sluice/matcher/matcher_place.hpp"

namespace sluice::matcher {

/// Ids of segments at equal distances. Numbers wrap around, so a distance may be negative.
struct SegmentRow {
  SegmentId first = 0;
  std::uint64_t distance = 0;  ///< from each id to the next one
  std::uint64_t count = 1;

  /// Id `number` of them, from 0.
  [[nodiscard]] SegmentId at(std::uint64_t number) const noexcept { return first + number * distance; }

  /// Adds the ids of another row, if they go on at the same distance. Two single ids are at any distance.
  [[nodiscard]] bool extend(const SegmentRow& other) noexcept {
    const std::uint64_t step = count == 1 ? other.first - first : distance;
    if (other.first != first + count * step || (other.count != 1 && other.distance != step)) return false;
    distance = step;
    count += other.count;
    return true;
  }

  bool operator==(const SegmentRow&) const = default;
};

}  // namespace sluice::matcher
