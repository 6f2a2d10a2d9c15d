#include "sluice/formats/slab_list.hpp"

#include <algorithm>

namespace sluice::formats {

SlabList::SlabList(std::span<const HyperslabView> slabs) {
  std::size_t total = 0;
  for (const auto& slab : slabs) total += slab.start.size() + slab.count.size() + slab.stride.size();
  numbers_ = std::make_unique_for_overwrite<std::int64_t[]>(total);
  auto* free = numbers_.get();
  const auto keep = [&](std::span<const std::int64_t> numbers) {
    std::ranges::copy(numbers, free);
    const std::span<const std::int64_t> kept(free, numbers.size());
    free += numbers.size();
    return kept;
  };
  views_.reserve(slabs.size());
  for (const auto& slab : slabs) {
    const auto start = keep(slab.start);
    const auto count = keep(slab.count);
    views_.push_back({start, count, keep(slab.stride)});
  }
}

bool SlabList::holds(std::span<const HyperslabView> slabs) const noexcept {
  return std::ranges::equal(views_, slabs, [](const auto& kept, const auto& slab) {
    return std::ranges::equal(kept.start, slab.start) && std::ranges::equal(kept.count, slab.count) &&
           std::ranges::equal(kept.stride, slab.stride);
  });
}

}  // namespace sluice::formats
