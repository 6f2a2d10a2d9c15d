#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// The data of a write request in the index, without its box.
struct RequestId {
  std::uint64_t sequence = 0;
  std::uint64_t log_offset = 0;  ///< includes `fill_bit`
  std::uint32_t writer = 0;
  std::uint32_t order =
      0;  ///< number of requests added before: of two with the same sequence, the later one wins

  /// Log offsets are below 2^63 (box.hpp).
  static constexpr std::uint64_t fill_bit = std::uint64_t{1} << 63;
};

/// Boxes of one variable, with their numbers in flat arrays. Counts take memory from the first box with more
/// than one element on, strides from the first box with strides on.
class BoxList {
 public:
  explicit BoxList(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  void add(const formats::HyperslabView& box, const RequestId& id);
  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] int dimensions() const noexcept { return static_cast<int>(dimensions_); }
  /// Valid until the list changes.
  [[nodiscard]] formats::HyperslabView box(std::size_t i) const noexcept;
  [[nodiscard]] const RequestId& id(std::size_t i) const noexcept { return ids_[i]; }
  /// Frees the unused capacity.
  void shrink();

 private:
  std::size_t dimensions_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> counts_;   ///< empty: all 1
  std::vector<std::int64_t> strides_;  ///< empty: all 1
  std::vector<std::int64_t> ones_;     ///< used in place of counts
  std::vector<RequestId> ids_;
};

}  // namespace sluice::matcher
