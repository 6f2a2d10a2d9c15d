#include "linearisation.hpp"

#include <algorithm>

#include "sluice/matcher/box.hpp"

namespace sluice::matcher {

Linearisation::Linearisation(std::span<const std::int64_t> extents)
    : extents_(extents.begin(), extents.end()), pitches_(extents.size(), 1) {
  std::int64_t positions = 1;
  for (std::size_t d = extents_.size(); d-- > 0;) {
    pitches_[d] = positions;
    if (__builtin_mul_overflow(positions, extents_[d], &positions) || positions >= index_limit) {
      is_usable_ = false;
      return;
    }
  }
}

std::optional<Interval> Linearisation::interval_of(const formats::HyperslabView& box) const noexcept {
  std::int64_t begin = 0;
  std::int64_t length = 1;
  bool is_partial = false;  // a faster dimension is not whole, so slower ones must have one index
  for (std::size_t d = extents_.size(); d-- > 0;) {
    const std::int64_t count = box.count[d];
    begin += box.start[d] * pitches_[d];
    if (count != 1) {
      if (is_partial || box.stride_of(static_cast<int>(d)) != 1) return std::nullopt;
      length = count * pitches_[d];
    }
    is_partial = is_partial || count != extents_[d];
  }
  return Interval{begin, begin + length};
}

void Linearisation::index_of(std::int64_t position, Indexes& index) const {
  const std::size_t dimensions = extents_.size();
  index.resize(dimensions, boost::container::default_init);
  for (std::size_t d = 0; d + 1 < dimensions; ++d) {
    index[d] = position / pitches_[d];
    position -= index[d] * pitches_[d];
  }
  if (dimensions > 0) index[dimensions - 1] = position;
}

void Linearisation::box_of(const Interval& interval, Indexes& start, Indexes& count) const {
  const std::size_t dimensions = extents_.size();
  const std::int64_t length = interval.end - interval.begin;
  index_of(interval.begin, start);
  count.resize(dimensions, boost::container::default_init);
  std::size_t d = 0;
  for (; d < dimensions && pitches_[d] > length; ++d) count[d] = 1;
  if (d == dimensions) return;
  count[d] = length / pitches_[d];
  std::copy(extents_.begin() + static_cast<std::ptrdiff_t>(d) + 1, extents_.end(),
            count.begin() + static_cast<std::ptrdiff_t>(d) + 1);
}

PositionCursor::PositionCursor(const Linearisation& linearisation, const formats::HyperslabView& box)
    : linearisation_(linearisation),
      start_(box.start.begin(), box.start.end()),
      count_(box.count.begin(), box.count.end()),
      stride_(box.start.size(), 1) {
  const std::span<const std::int64_t> extents = linearisation.extents();
  std::int64_t last = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (count_[d] > 1) stride_[d] = box.stride_of(static_cast<int>(d));
    if (start_[d] >= extents[d]) return;
    count_[d] = std::min(count_[d], (extents[d] - 1 - start_[d]) / stride_[d] + 1);
    if (count_[d] == 0) return;
    hull_.begin += start_[d] * linearisation.pitch(d);
    last += (start_[d] + (count_[d] - 1) * stride_[d]) * linearisation.pitch(d);
  }
  hull_.end = last + 1;
  formats::HyperslabView clipped;
  clipped.start = {start_.data(), start_.size()};
  clipped.count = {count_.data(), count_.size()};
  clipped.stride = {stride_.data(), stride_.size()};
  is_contiguous_ = linearisation.interval_of(clipped).has_value();
}

std::int64_t PositionCursor::next(std::int64_t position) {
  if (position <= hull_.begin) return hull_.begin;
  if (position >= hull_.end) return hull_.end;
  return is_contiguous_ ? position : next_in_box(position);
}

std::int64_t PositionCursor::next_in_box(std::int64_t position) {
  const std::size_t dimensions = start_.size();
  linearisation_.index_of(position, index_);
  element_.assign(dimensions, 0);
  // Follow the index through the dimensions as long as the box contains it. Then take the next larger index,
  // with all faster dimensions at their first.
  std::size_t d = 0;
  for (; d < dimensions; ++d) {
    const std::int64_t distance = index_[d] - start_[d];
    if (distance <= 0) {
      if (distance < 0) break;
      continue;
    }
    element_[d] = distance / stride_[d];
    if (element_[d] * stride_[d] != distance) {
      ++element_[d];
      if (element_[d] < count_[d]) break;
    }
    if (element_[d] < count_[d]) continue;
    // Beyond the last: carry to the slower dimensions.
    element_[d] = 0;
    while (true) {
      if (d == 0) return hull_.end;
      --d;
      if (++element_[d] < count_[d]) break;
      element_[d] = 0;
    }
    break;
  }
  std::int64_t result = 0;
  for (std::size_t k = 0; k < dimensions; ++k) {
    result += (start_[k] + element_[k] * stride_[k]) * linearisation_.pitch(k);
  }
  return result;
}

}  // namespace sluice::matcher
