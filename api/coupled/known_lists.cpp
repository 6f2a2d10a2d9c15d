#include "known_lists.hpp"

#include <algorithm>
#include <utility>

namespace sluice::api {

namespace {
/// Each search looks at all lists, so a program with very many short lists keeps a few of them.
constexpr std::size_t most_lists = 256;
}  // namespace

CheckedList KnownLists::find(const VarnList& named, const ListBounds& bounds) {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const Known& known) {
    return known.checked.bounds == bounds && names(named, *known.checked.list);
  };
  const auto found = std::ranges::find_if(lists_, is_it);
  if (found == lists_.end()) return {};
  std::rotate(lists_.begin(), found, found + 1);
  return lists_.front().checked;
}

bool KnownLists::was_seen(const Glimpse& glimpse) {
  if (std::ranges::find(glimpses_, glimpse) != glimpses_.end()) return true;
  glimpses_[oldest_++ % glimpses_.size()] = glimpse;
  return false;
}

void KnownLists::remember(std::span<const formats::HyperslabView> slabs, const CheckedList& checked) {
  if (slabs.empty() || slabs.front().start.empty()) return;
  const std::size_t bytes =
      slabs.size() * (sizeof(formats::HyperslabView) + 2 * checked.bounds.dimensions * sizeof(std::int64_t));
  if (bytes > limit_bytes_) return;
  const std::lock_guard lock(mutex_);
  if (!was_seen({slabs.size(), checked.bounds, checked.elements, slabs.front().start.back(),
                 slabs.back().start.back()})) {
    return;
  }
  Known known{checked, nullptr, bytes};
  known.checked.list = std::make_shared<const formats::SlabList>(slabs);
  known.summary = std::make_shared<const matcher::BoxesSummary>(
      matcher::summarize(known.checked.list->views(), checked.bounds.is_record_variable));
  lists_.insert(lists_.begin(), std::move(known));
  bytes_ += bytes;
  while (bytes_ > limit_bytes_ || lists_.size() > most_lists) {
    bytes_ -= lists_.back().bytes;
    lists_.pop_back();
  }
}

std::shared_ptr<const matcher::BoxesSummary> KnownLists::summary_of(
    std::span<const formats::HyperslabView> slabs, bool has_records) {
  const std::lock_guard lock(mutex_);
  for (const Known& known : lists_) {
    const auto views = known.checked.list->views();
    const bool is_it = views.data() == slabs.data() && views.size() == slabs.size();
    if (is_it && known.checked.bounds.is_record_variable == has_records) return known.summary;
  }
  return nullptr;
}

KnownLists& known_lists() {
  constexpr std::size_t limit_bytes = std::size_t{64} << 20;
  // Never destroyed: other threads may still run when the process ends.
  static KnownLists* const only = std::make_unique<KnownLists>(limit_bytes).release();
  return *only;
}

}  // namespace sluice::api
