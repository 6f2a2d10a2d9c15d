#pragma once
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sluice/matcher/index_range.hpp"

namespace sluice::matcher {

/// The bit of a variable in LogExtent::variables.
[[nodiscard]] constexpr std::uint64_t variable_bit(int varid) noexcept {
  return std::uint64_t{1} << (static_cast<unsigned>(varid) % 64U);
}

/// Bounds on the puts of one process in a step: a few numbers, however many puts there are. A matcher that
/// indexes a part of a variable asks only the matchers whose processes may have put something there. The
/// default value sets no bounds.
struct LogExtent {
  /// In all variables that have the dimension, every put lies within this range.
  struct Dimension {
    std::int32_t dimid = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
    bool operator==(const Dimension&) const = default;
  };
  /// Further dimensions have no bounds.
  static constexpr std::size_t most_dimensions = 8;

  bool is_known = false;        ///< the bounds are known
  std::uint64_t variables = 0;  ///< bit v % 64: variable v may have been put
  boost::container::small_vector<Dimension, 3> dimensions;

  /// Widens the extent by non-empty boxes of a variable. `dimids`: the variable's dimensions. `ranges`: one
  /// for each of its first dimensions.
  void add(int varid, std::span<const int> dimids, std::span<const IndexRange> ranges);
  /// Widens the extent by another one of the same variables and dimensions. The result has no bounds where
  /// one of the two has none.
  void add(const LogExtent& other);
  /// Whether an index of the range may be within the extent.
  [[nodiscard]] bool may_reach(int dimid, const IndexRange& range) const noexcept;
};

}  // namespace sluice::matcher
