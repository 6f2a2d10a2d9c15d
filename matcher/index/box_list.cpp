#include "box_list.hpp"

#include <algorithm>

namespace sluice::matcher {
namespace {

bool is_one(std::int64_t number) noexcept {
  return number == 1;
}

/// Appends `numbers` (empty: ones) to a flat array. The array stays empty as long as all its numbers are
/// ones. `before`: how many numbers it represents so far.
void append(std::vector<std::int64_t>& flat, std::size_t before, std::span<const std::int64_t> numbers,
            std::size_t dimensions) {
  if (flat.empty()) {
    if (std::ranges::all_of(numbers, is_one)) return;
    flat.assign(before, 1);
  }
  if (numbers.empty()) {
    flat.insert(flat.end(), dimensions, 1);
  } else {
    flat.insert(flat.end(), numbers.begin(), numbers.end());
  }
}

}  // namespace

void BoxList::add(const formats::HyperslabView& box, const RequestId& id) {
  const std::size_t before = starts_.size();
  if (ones_.size() != dimensions_) ones_.assign(dimensions_, 1);
  starts_.insert(starts_.end(), box.start.begin(), box.start.end());
  append(counts_, before, box.count, dimensions_);
  append(strides_, before, box.stride, dimensions_);
  ids_.push_back(id);
}

formats::HyperslabView BoxList::box(std::size_t i) const noexcept {
  const std::size_t first = i * dimensions_;
  const auto part = [&](const std::vector<std::int64_t>& flat) {
    return std::span(flat).subspan(first, dimensions_);
  };
  formats::HyperslabView view;
  view.start = part(starts_);
  view.count = counts_.empty() ? std::span<const std::int64_t>(ones_) : part(counts_);
  if (!strides_.empty()) view.stride = part(strides_);
  return view;
}

void BoxList::shrink() {
  starts_.shrink_to_fit();
  counts_.shrink_to_fit();
  strides_.shrink_to_fit();
  ids_.shrink_to_fit();
}

}  // namespace sluice::matcher
