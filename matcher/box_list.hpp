#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// What the index remembers of a write request beside its box.
struct RequestId {
  std::uint64_t sequence = 0;
  std::uint64_t log_offset = 0;  ///< with `fill_bit`
  std::uint32_t writer = 0;
  std::uint32_t order =
      0;  ///< how many requests were added before: the later of two with the same sequence wins

  /// Log offsets are below 2^63 (box.hpp).
  static constexpr std::uint64_t fill_bit = std::uint64_t{1} << 63;
};

/// Boxes of one variable, their numbers in flat arrays. Counts take room from the first box on that is not a
/// single element, strides from the first one that has any.
class BoxList {
 public:
  explicit BoxList(int dimensions) : dimensions_(static_cast<std::size_t>(dimensions)) {}

  void add(const formats::HyperslabView& box, const RequestId& id);
  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] int dimensions() const noexcept { return static_cast<int>(dimensions_); }
  /// Holds until the list changes.
  [[nodiscard]] formats::HyperslabView box(std::size_t i) const noexcept;
  [[nodiscard]] const RequestId& id(std::size_t i) const noexcept { return ids_[i]; }
  /// Gives back room that growing left over.
  void shrink();

 private:
  std::size_t dimensions_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> counts_;   ///< empty: all 1
  std::vector<std::int64_t> strides_;  ///< empty: all 1
  std::vector<std::int64_t> ones_;     ///< stands in for counts
  std::vector<RequestId> ids_;
};

}  // namespace sluice::matcher
