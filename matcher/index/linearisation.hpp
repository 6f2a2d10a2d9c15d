#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// Linear positions [begin, end).
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// One number per dimension.
using Indexes = boost::container::small_vector<std::int64_t, 8>;

/// Row-major numbering of the index space of a set of boxes: in each dimension from 0 to the largest index of
/// any box. The space need not be the variable's shape, whose record dimension has no end. Any shape that
/// holds all boxes orders their elements as the variable does.
class Linearisation {
 public:
  /// `extents`: slowest dimension first, each at least 1.
  explicit Linearisation(std::span<const std::int64_t> extents);

  [[nodiscard]] std::span<const std::int64_t> extents() const noexcept {
    return {extents_.data(), extents_.size()};
  }
  /// Distance between neighbours in dimension d.
  [[nodiscard]] std::int64_t pitch(std::size_t d) const noexcept { return pitches_[d]; }
  /// False when positions do not fit into 62 bits: then no other function may be called.
  [[nodiscard]] bool is_usable() const noexcept { return is_usable_; }

  /// Whether a non-empty box lies within the extents.
  [[nodiscard]] bool contains(const formats::HyperslabView& box) const noexcept {
    for (std::size_t d = 0; d < extents_.size(); ++d) {
      const std::int64_t step = box.stride.empty() ? 1 : box.stride[d];
      if (box.start[d] + (box.count[d] - 1) * step >= extents_[d]) return false;
    }
    return true;
  }
  /// The interval of a box whose elements follow one another without a gap; otherwise empty. The box has
  /// elements and lies within the extents.
  [[nodiscard]] std::optional<Interval> interval_of(const formats::HyperslabView& box) const noexcept;
  /// The box of an interval from interval_of(): the same elements in the same order.
  void box_of(const Interval& interval, Indexes& start, Indexes& count) const;
  void index_of(std::int64_t position, Indexes& index) const;
  /// The index must lie within the extents.
  [[nodiscard]] std::int64_t position_of(std::span<const std::int64_t> index) const noexcept {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < pitches_.size(); ++d) position += index[d] * pitches_[d];
    return position;
  }

 private:
  Indexes extents_;
  Indexes pitches_;
  bool is_usable_ = true;
};

/// Iterates over the linear positions of a box that need not be contiguous.
class PositionCursor {
 public:
  /// Uses the part of `box` within the extents.
  PositionCursor(const Linearisation& linearisation, const formats::HyperslabView& box);

  [[nodiscard]] bool is_empty() const noexcept { return hull_.begin >= hull_.end; }
  /// Whether the box has every position of its hull.
  [[nodiscard]] bool is_contiguous() const noexcept { return is_contiguous_; }
  /// From the first position to the end behind the last one.
  [[nodiscard]] const Interval& hull() const noexcept { return hull_; }
  /// The smallest position of the box that is not below `position`; hull().end when there is none.
  [[nodiscard]] std::int64_t next(std::int64_t position);

 private:
  std::int64_t next_in_box(std::int64_t position);

  const Linearisation& linearisation_;
  Indexes start_, count_, stride_;
  Indexes index_, element_;  ///< scratch: of the position, and the element numbers of the box
  Interval hull_;
  bool is_contiguous_ = false;
};

}  // namespace sluice::matcher
