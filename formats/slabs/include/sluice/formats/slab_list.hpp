#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::formats {

/// An immutable list of hyperslabs with their numbers.
class SlabList {
 public:
  explicit SlabList(std::span<const HyperslabView> slabs);

  [[nodiscard]] std::span<const HyperslabView> views() const noexcept { return views_; }
  /// Whether the list has the same hyperslabs in the same order.
  [[nodiscard]] bool holds(std::span<const HyperslabView> slabs) const noexcept;

 private:
  std::unique_ptr<std::int64_t[]> numbers_;  ///< starts, counts and strides, slab after slab
  std::vector<HyperslabView> views_;
};

}  // namespace sluice::formats
