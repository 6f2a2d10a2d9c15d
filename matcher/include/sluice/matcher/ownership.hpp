#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

/// Indexes [first, end) of a dimension.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const IndexRange&) const = default;
};

/// What divides a step among matchers.
struct Partition {
  PartitionKind kind = PartitionKind::range;
  std::uint32_t owners = 1;  ///< number of matchers, at least 1
  /// Smaller variables are divided among fewer: asking several matchers costs more than their help is worth.
  std::int64_t least_elements = 1024;
};

/// The part of a read that one owner is asked for.
struct OwnedPart {
  std::uint32_t owner = 0;
  std::int64_t first = 0;  ///< in the divided dimension: which element of the read the part begins with
  std::int64_t count = 0;  ///< and how many it has; all of a read that has no divided dimension
};

/// Into which parts a variable is divided, whoever owns them: variables with equal divisions have the same
/// parts.
struct Division {
  int dimensions = 0;       ///< of the variable
  int dimension = -1;       ///< that is divided; -1: none
  std::int64_t length = 1;  ///< of that dimension
  std::uint32_t parts = 1;
  auto operator<=>(const Division&) const = default;
};

/// Which matcher answers for which part of one variable: ranges of the slowest dimension that is as long as
/// there are parts, or else of the longest one. So of a record variable in a step of one record the next
/// dimension is divided. Parts differ in length by one at most. Where each matcher has a part, the first one
/// has the first part: so variables that are written alike have the same owners. Of those with fewer parts,
/// which matcher has the first depends on the variable, so that small variables are spread.
///
/// A value: the same arguments give the same division in every matcher. Record variables are divided by the
/// number of records that the step has; indexes beyond belong to the last part.
class Ownership {
 public:
  /// `shape`: lengths, none negative; of a record variable the first is the step's number of records.
  Ownership(const Partition& partition, int varid, std::span<const std::int64_t> shape);

  /// The dimension that is divided; -1: none.
  [[nodiscard]] int dimension() const noexcept { return division_.dimension; }
  /// Of how many matchers each has a part.
  [[nodiscard]] std::uint32_t parts() const noexcept { return division_.parts; }
  [[nodiscard]] const Division& division() const noexcept { return division_; }
  /// The owner of part `part`, and the part that contains `index` of the divided dimension.
  [[nodiscard]] std::uint32_t owner_of_part(std::uint32_t part) const noexcept {
    return (first_owner_ + part) % owners_;
  }
  /// The part that this owner has; not less than parts() for who owns nothing.
  [[nodiscard]] std::uint32_t part_of_owner(std::uint32_t owner) const noexcept {
    return (owner + owners_ - first_owner_) % owners_;
  }
  [[nodiscard]] std::uint32_t part_of(std::int64_t index) const noexcept;
  /// The indexes of the divided dimension that `owner` has a part of; any range where none is divided;
  /// nothing for who owns nothing.
  [[nodiscard]] std::optional<IndexRange> range_of(std::uint32_t owner) const noexcept;
  /// The owner of the element at `index` (one number per dimension).
  [[nodiscard]] std::uint32_t owner_of(std::span<const std::int64_t> index) const noexcept;

  /// Appends the owners' parts of a hyperslab, in ascending order of their first element; none for a
  /// hyperslab without elements. Elements of a part are in the same order as in the hyperslab.
  void divide(const formats::HyperslabView& slab, std::vector<OwnedPart>& parts) const;

 private:
  [[nodiscard]] std::int64_t begin_of(std::uint32_t part) const noexcept;

  std::uint32_t owners_ = 1;
  std::uint32_t first_owner_ = 0;
  Division division_;
};

/// The hyperslab of one owner's part: `slab` with another first element and count in dimension `dimension`
/// (-1: as it is). The spans of the result point into `slab`'s numbers and into this object's.
class PartOfSlab {
 public:
  [[nodiscard]] formats::HyperslabView cut(const formats::HyperslabView& slab, int dimension,
                                           const OwnedPart& part);

 private:
  std::vector<std::int64_t> start_, count_;
};

}  // namespace sluice::matcher
