#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sluice/matcher/step_partition.hpp"

namespace sluice::matcher {

/// Bounds on what one process has put in a step, a few numbers however much that is: who indexes a part of a
/// variable asks only those matchers whose processes may have put something there. The default bounds
/// nothing.
struct LogExtent {
  /// What was put lies within this range, in all variables that have the dimension.
  struct Dimension {
    std::int32_t dimid = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
    bool operator==(const Dimension&) const = default;
  };
  /// More than these are not told.
  static constexpr std::size_t most_dimensions = 8;

  bool is_known = false;        ///< what follows holds
  std::uint64_t variables = 0;  ///< bit v % 64: variable v may have been put
  std::vector<Dimension> dimensions;

  /// Widens it by boxes of a variable that have elements. `dimids`: the variable's; `ranges`: one for each of
  /// its first dimensions.
  void add(int varid, std::span<const int> dimids, std::span<const IndexRange> ranges);
  /// Widens it by another, of the same variables and dimensions. What one of them does not tell is not told.
  void add(const LogExtent& other);
  /// Whether an index of the range may be in it.
  [[nodiscard]] bool may_reach(int dimid, const IndexRange& range) const noexcept;
};

/// What one matcher owns of a step's variables.
class OwnedExtent {
 public:
  OwnedExtent(const formats::Header& header, const StepPartition& partition, std::uint32_t owner);

  /// Whether a process with this extent may have put something there. True where that cannot be told.
  [[nodiscard]] bool may_hold(const LogExtent& extent) const noexcept;

 private:
  /// A part of some variables.
  struct Part {
    std::uint64_t variables = 0;  ///< as in LogExtent
    int dimid = -1;               ///< in which it is less than the whole; -1: none
    IndexRange range;
    [[nodiscard]] bool is_same_place(const Part& other) const noexcept {
      return dimid == other.dimid && range == other.range;
    }
  };
  std::vector<Part> parts_;
};

}  // namespace sluice::matcher
