#include "sluice/storage/extents.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace sluice::storage {
namespace {

/// The number of the extent's elements that begin before `offset_bytes`.
std::int64_t elements_before(const Extent& extent, std::int64_t offset_bytes) noexcept {
  if (offset_bytes <= extent.offset_bytes) return 0;
  const std::int64_t distance = offset_bytes - extent.offset_bytes;
  return std::min(extent.elements, (distance + extent.element_bytes - 1) / extent.element_bytes);
}

/// Merges adjacent sorted lists in pairs until one list is left. `begins`: the begin of each list.
template <class T, class Less>
void merge_lists(std::vector<T>& items, std::vector<std::size_t> begins, const Less& less) {
  std::vector<T> merged;
  while (begins.size() > 1) {
    merged.resize(items.size());
    begins.push_back(items.size());
    std::vector<std::size_t> merged_begins;
    const auto at = [&](std::size_t list) {
      return items.begin() + static_cast<std::ptrdiff_t>(begins[list]);
    };
    for (std::size_t list = 0; list + 1 < begins.size(); list += 2) {
      const std::size_t last = std::min(list + 2, begins.size() - 1);
      const auto to = merged.begin() + static_cast<std::ptrdiff_t>(begins[list]);
      // Lists of variables that follow each other in the file are only copied.
      const bool is_ordered = last == list + 1 || !less(*at(list + 1), *(at(list + 1) - 1));
      if (is_ordered) {
        std::copy(at(list), at(last), to);
      } else {
        std::merge(at(list), at(list + 1), at(list + 1), at(last), to, less);
      }
      // Two merged lists that are already in order are one list for the next pass.
      if (list == 0 || less(*to, *(to - 1))) merged_begins.push_back(begins[list]);
    }
    items.swap(merged);
    begins = std::move(merged_begins);
  }
}

struct IsBefore {
  bool operator()(const Extent& a, const Extent& b) const noexcept { return a.offset_bytes < b.offset_bytes; }
};

/// Later puts take precedence: a heap yields the latest of the extents that cover a position.
struct IsEarlierPut {
  bool operator()(const Extent& a, const Extent& b) const noexcept {
    return std::tie(a.access, a.first_element) < std::tie(b.access, b.first_element);
  }
};

/// Appends the last of the overlapping extents at each position, from the first to the last byte of [first,
/// last).
void append_latest(std::vector<Extent>::const_iterator first, std::vector<Extent>::const_iterator last,
                   std::vector<Extent>& result) {
  std::vector<std::int64_t> cuts;
  for (auto extent = first; extent != last; ++extent) {
    cuts.push_back(extent->offset_bytes);
    cuts.push_back(extent->end());
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  std::priority_queue<Extent, std::vector<Extent>, IsEarlierPut> covering;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    for (; first != last && first->offset_bytes == cuts[i]; ++first) covering.push(*first);
    while (!covering.empty() && covering.top().end() <= cuts[i]) covering.pop();
    if (covering.empty()) continue;
    const Extent part = clip(covering.top(), {cuts[i], cuts[i + 1]});
    if (part.elements > 0) result.push_back(part);
  }
}

}  // namespace

Extent clip(const Extent& extent, const FileRange& range) noexcept {
  const std::int64_t first = elements_before(extent, range.begin);
  const std::int64_t last = elements_before(extent, range.end);
  Extent part = extent;
  part.offset_bytes += first * extent.element_bytes;
  part.first_element += first;
  part.elements = std::max<std::int64_t>(0, last - first);
  return part;
}

void sort_extents(std::vector<Extent>& extents) {
  constexpr IsBefore is_before;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (i == 0 || is_before(extents[i], extents[i - 1])) begins.push_back(i);
  }
  if (begins.size() <= 1) return;
  constexpr std::size_t short_list = 8;
  if (begins.size() > extents.size() / short_list) {
    std::stable_sort(extents.begin(), extents.end(), is_before);
  } else {
    merge_lists(extents, std::move(begins), is_before);
  }
}

bool has_overlaps(const std::vector<Extent>& sorted) noexcept {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].offset_bytes < sorted[i - 1].end()) return true;
  }
  return false;
}

void remove_overlaps(std::vector<Extent>& sorted) {
  std::vector<Extent> result;
  result.reserve(sorted.size());
  for (auto first = sorted.cbegin(); first != sorted.cend();) {
    // [first, last) is a chain of extents, each of which overlaps with an earlier one.
    auto last = first + 1;
    for (std::int64_t end = first->end(); last != sorted.cend() && last->offset_bytes < end; ++last)
      end = std::max(end, last->end());
    if (last - first == 1) {
      result.push_back(*first);
    } else {
      append_latest(first, last, result);
    }
    first = last;
  }
  sorted = std::move(result);
}

const std::vector<FileRange>& Coverage::join() {
  // An empty list has no first element to compare.
  list_begins_.erase(std::unique(list_begins_.begin(), list_begins_.end()), list_begins_.end());
  if (!list_begins_.empty() && list_begins_.back() == ranges_.size()) list_begins_.pop_back();
  if (list_begins_.size() <= 1) return ranges_;
  merge_lists(ranges_, std::move(list_begins_),
              [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    if (ranges_[i].begin <= ranges_[last].end) {
      ranges_[last].end = std::max(ranges_[last].end, ranges_[i].end);
    } else {
      ranges_[++last] = ranges_[i];
    }
  }
  if (!ranges_.empty()) ranges_.resize(last + 1);
  list_begins_.assign(1, 0);
  return ranges_;
}

}  // namespace sluice::storage
