#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::api {

/// The hyperslabs of a nonblocking request, with their numbers: the user's arrays may change before the wait.
class KeptSlabs {
 public:
  explicit KeptSlabs(std::span<const formats::HyperslabView> slabs);

  [[nodiscard]] std::span<const formats::HyperslabView> views() const noexcept { return views_; }
  /// Whether these are the same hyperslabs in the same order.
  [[nodiscard]] bool holds(std::span<const formats::HyperslabView> slabs) const noexcept;

 private:
  std::unique_ptr<std::int64_t[]> numbers_;  ///< starts, counts and strides, slab after slab
  std::vector<formats::HyperslabView> views_;
};

/// Finds lists again that were used lately: climate models write hundreds of variables by two or three
/// decompositions, each a list of tens of thousands of hyperslabs.
class RecentSlabs {
 public:
  /// The list of these hyperslabs: one that is there, or a new one. Shared by all requests that name the
  /// same.
  [[nodiscard]] std::shared_ptr<const KeptSlabs> list_of(std::span<const formats::HyperslabView> slabs);
  void clear() noexcept;

 private:
  std::array<std::shared_ptr<const KeptSlabs>, 4> lists_;
  std::size_t oldest_ = 0;
};

}  // namespace sluice::api
