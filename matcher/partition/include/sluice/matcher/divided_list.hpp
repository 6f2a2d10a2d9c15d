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

/// A list of boxes, divided among the parts of a variable. Each owner gets the boxes that it needs. The
/// division is the same for all variables that are divided alike.
class DividedList {
 public:
  /// Throws Error(NC_EIO) for boxes that are not sound, that do not have the variable's number of dimensions,
  /// or that have too many elements.
  DividedList(std::span<const formats::HyperslabView> boxes, const Ownership& ownership);

  /// The number of elements of the whole list.
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// The whole boxes that have elements in a part, as a RequestList's chunk. In the chunk, log_offset is the
  /// number of the list's elements before the box.
  struct Part {
    std::uint32_t part = 0;
    std::vector<std::byte> boxes;
  };
  /// The parts that have elements, in ascending order.
  [[nodiscard]] std::span<const Part> parts() const noexcept { return parts_; }

 private:
  std::int64_t elements_ = 0;
  std::vector<Part> parts_;
};

/// A part of a list as its owner receives it. Throws Error(NC_EIO) when the part is damaged.
[[nodiscard]] std::shared_ptr<const ListedBoxes> part_of_list(std::span<const std::byte> boxes);

}  // namespace sluice::matcher
