#include "recent_slabs.hpp"

#include <algorithm>

namespace sluice::api {
namespace {

/// The numbers of a list, if start and count of all slabs lie one after the other in memory. Otherwise null.
const std::int64_t* side_by_side(std::span<const formats::HyperslabView> slabs, std::size_t dimensions) {
  if (slabs.empty() || slabs.back().start.size() != dimensions || !slabs.back().stride.empty())
    return nullptr;
  const std::int64_t* const first = slabs.front().start.data();
  const auto behind = static_cast<std::ptrdiff_t>((slabs.size() - 1) * 2 * dimensions);
  return slabs.back().start.data() - first == behind ? first : nullptr;
}

/// Compares the numbers with the user's arrays. It does not read the slabs, which take as much memory again,
/// and has no branch for each number.
template <std::size_t dimensions>
bool are_named(const VarnList& named, const std::int64_t* numbers) noexcept {
  constexpr std::size_t slabs_at_once = 16;
  for (std::size_t i = 0; i < named.length;) {
    const std::size_t end = std::min(named.length, i + slabs_at_once);
    std::int64_t differences = 0;
    for (; i < end; ++i, numbers += 2 * dimensions) {
      const MPI_Offset* const start = named.starts[i];
      const MPI_Offset* const count = named.counts == nullptr ? nullptr : named.counts[i];
      if (start == nullptr) return false;
      for (std::size_t d = 0; d < dimensions; ++d) {
        differences |= start[d] ^ numbers[d];
        differences |= (count == nullptr ? 1 : count[d]) ^ numbers[dimensions + d];
      }
    }
    if (differences != 0) return false;
  }
  return true;
}

}  // namespace

bool names(const VarnList& named, const formats::SlabList& list) noexcept {
  const auto views = list.views();
  if (views.size() != named.length) return false;
  if (const std::int64_t* const numbers = side_by_side(views, named.dimensions)) {
    if (named.dimensions == 1) return are_named<1>(named, numbers);
    if (named.dimensions == 2) return are_named<2>(named, numbers);
    if (named.dimensions == 3) return are_named<3>(named, numbers);
    if (named.dimensions == 4) return are_named<4>(named, numbers);
  }
  for (std::size_t i = 0; i < named.length; ++i) {
    const formats::HyperslabView& slab = views[i];
    const MPI_Offset* const start = named.starts[i];
    const MPI_Offset* const count = named.counts == nullptr ? nullptr : named.counts[i];
    if (start == nullptr || slab.start.size() != named.dimensions || !slab.stride.empty()) return false;
    bool is_same = true;
    for (std::size_t d = 0; d < named.dimensions; ++d) {
      is_same = is_same && start[d] == slab.start[d] && (count == nullptr ? 1 : count[d]) == slab.count[d];
    }
    if (!is_same) return false;
  }
  return true;
}

std::shared_ptr<const formats::SlabList> RecentSlabs::list_of(std::span<const formats::HyperslabView> slabs) {
  for (const CheckedList& known : lists_) {
    if (known.list && known.list->holds(slabs)) return known.list;
  }
  CheckedList& place = lists_[oldest_++ % lists_.size()];
  place = {std::make_shared<const formats::SlabList>(slabs), {}, 0, 0};
  return place.list;
}

const CheckedList* RecentSlabs::find(const VarnList& named, const ListBounds& bounds) const noexcept {
  for (const CheckedList& known : lists_) {
    if (known.list && known.bounds == bounds && names(named, *known.list)) return &known;
  }
  return nullptr;
}

void RecentSlabs::remember(const CheckedList& checked) {
  const auto known = std::ranges::find(lists_, checked.list, &CheckedList::list);
  if (known != lists_.end()) *known = checked;
}

void RecentSlabs::clear() noexcept {
  lists_.fill({});
}

}  // namespace sluice::api
