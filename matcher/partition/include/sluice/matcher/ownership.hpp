#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/index_range.hpp"

namespace sluice::matcher {

/// The parameters that divide a step among matchers.
struct Partition {
  PartitionKind kind = PartitionKind::range;
  std::uint32_t owners = 1;  ///< number of matchers, at least 1
  /// Smaller variables are divided among fewer matchers: asking several costs more than it saves.
  std::int64_t least_elements = 1024;
};

/// The part of a read for which one owner is asked.
struct OwnedPart {
  std::uint32_t owner = 0;
  std::int64_t first = 0;  ///< in the divided dimension: the read's element with which the part begins
  std::int64_t count = 0;  ///< its number of elements; all of them when the read has no divided dimension
};

/// The parts of a variable, independent of their owners. Variables with equal divisions have the same parts.
struct Division {
  int dimensions = 0;       ///< of the variable
  int dimension = -1;       ///< the divided dimension; -1: none
  std::int64_t length = 1;  ///< length of that dimension
  std::uint32_t parts = 1;
  auto operator<=>(const Division&) const = default;
};

/// Says which matcher answers for which part of one variable. The parts are ranges of the slowest dimension
/// that is at least as long as the number of parts, otherwise of the longest dimension. A record variable in
/// a step of one record is thus divided along the next dimension. The lengths of parts differ by at most one.
/// When each matcher has a part, the first matcher has the first part, so variables that are written alike
/// have the same owners. A variable with fewer parts starts at a matcher that depends on the variable. This
/// spreads small variables over the matchers.
///
/// The class is a value: the same arguments give the same division in every matcher. Record variables are
/// divided by the step's number of records; indexes beyond it belong to the last part.
class Ownership {
 public:
  /// `shape`: lengths, none negative. The first length of a record variable is the step's number of records.
  Ownership(const Partition& partition, int varid, std::span<const std::int64_t> shape);

  /// The divided dimension; -1: none.
  [[nodiscard]] int dimension() const noexcept { return division_.dimension; }
  /// The number of parts. Each part has a different matcher.
  [[nodiscard]] std::uint32_t parts() const noexcept { return division_.parts; }
  [[nodiscard]] const Division& division() const noexcept { return division_; }
  /// The owner of part `part`; the part that contains `index` of the divided dimension.
  [[nodiscard]] std::uint32_t owner_of_part(std::uint32_t part) const noexcept {
    return (first_owner_ + part) % owners_;
  }
  /// The part of this owner. A matcher that owns nothing gets a value of at least parts().
  [[nodiscard]] std::uint32_t part_of_owner(std::uint32_t owner) const noexcept {
    return (owner + owners_ - first_owner_) % owners_;
  }
  [[nodiscard]] std::uint32_t part_of(std::int64_t index) const noexcept;
  /// The indexes of the divided dimension that `owner` has. Any range when no dimension is divided. Empty for
  /// a matcher that owns nothing.
  [[nodiscard]] std::optional<IndexRange> range_of(std::uint32_t owner) const noexcept;
  /// The owner of the element at `index` (one number per dimension).
  [[nodiscard]] std::uint32_t owner_of(std::span<const std::int64_t> index) const noexcept;

  /// Appends the owners' parts of a hyperslab, in ascending order of their first element. A hyperslab without
  /// elements has no parts. Elements of a part have the same order as in the hyperslab.
  void divide(const formats::HyperslabView& slab, std::vector<OwnedPart>& parts) const;

 private:
  [[nodiscard]] std::int64_t begin_of(std::uint32_t part) const noexcept;

  std::uint32_t owners_ = 1;
  std::uint32_t first_owner_ = 0;
  Division division_;
};

/// The hyperslab of one owner's part: `slab` with another first element and count in dimension `dimension`
/// (-1: unchanged). The spans of the result point into `slab`'s numbers and into this object's.
class PartOfSlab {
 public:
  [[nodiscard]] formats::HyperslabView cut(const formats::HyperslabView& slab, int dimension,
                                           const OwnedPart& part);

 private:
  std::vector<std::int64_t> start_, count_;
};

}  // namespace sluice::matcher
