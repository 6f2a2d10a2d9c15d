#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/ownership.hpp"
#include "sluice/matcher/table_scan.hpp"

namespace sluice::matcher {

/// A list of boxes, divided among the parts of a variable: what each owner has to know of the list. It is the
/// same for all variables with the same division.
class DividedList {
 public:
  /// Throws Error(NC_EIO) for boxes that are not sound, have another number of dimensions than the variable,
  /// or too many elements.
  DividedList(std::span<const formats::HyperslabView> boxes, const Ownership& ownership);

  /// Of the whole list.
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// The boxes that have elements of a part, whole: a RequestList's chunk, in which log_offset is how many
  /// elements of the list come before the box.
  struct Part {
    std::uint32_t part = 0;
    std::vector<std::byte> boxes;
  };
  /// Of the parts that have any, in ascending order.
  [[nodiscard]] std::span<const Part> parts() const noexcept { return parts_; }

 private:
  std::int64_t elements_ = 0;
  std::vector<Part> parts_;
};

/// A part of a list as its owner gets it. Throws Error(NC_EIO) when it is damaged.
[[nodiscard]] std::shared_ptr<const ListedBoxes> part_of_list(std::span<const std::byte> boxes);

}  // namespace sluice::matcher
