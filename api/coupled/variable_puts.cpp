#include "variable_puts.hpp"

#include <algorithm>
#include <bit>

namespace sluice::api {

namespace {

using formats::HyperslabView;

std::vector<std::int64_t> numbers_of(const HyperslabView& box) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(3 * box.start.size());
  for (int d = 0; d < box.dimensions(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    numbers.insert(numbers.end(), {box.start[i], box.count[i], box.stride_of(d)});
  }
  return numbers;
}

/// How many elements of the earlier box the later one has.
std::int64_t common_elements(const std::vector<std::int64_t>& earlier, const HyperslabView& later) {
  std::int64_t elements = 1;
  for (int d = 0; elements > 0 && d < later.dimensions(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t* const range = &earlier[3 * i];
    elements *=
        formats::intersect(range[0], range[1], range[2], later.start[i], later.count[i], later.stride_of(d))
            .count;
  }
  return elements;
}

}  // namespace

bool VariablePuts::count(const formats::Header& header, const storage::Access& access, int processes) {
  if (is_given_up_) return false;
  if (!row_sizes_.empty()) return true;
  elements_ += access.elements;
  if (elements_ <= enough_) return false;
  std::int64_t records = 1;
  if (header.is_record_variable(access.varid)) {
    records = header.record_count;
    for (const auto& slab : access.slabs)
      if (slab.elements() > 0) records = std::max(records, slab.end_of(0));
  }
  const auto shape = header.shape(access.varid);
  std::vector<std::int64_t> sizes(shape.size() + 1, 1);
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::int64_t length = i == 0 && header.is_record_variable(access.varid) ? records : shape[i];
    if (__builtin_mul_overflow(sizes[i + 1], length, &sizes[i]) || sizes[i] > most_elements)
      return give_up(), false;
  }
  enough_ = sizes[0] / processes;
  if (elements_ <= enough_) return false;
  row_sizes_.assign(sizes.begin() + 1, sizes.end());
  axis_sizes_.assign(1, sizes[0]);
  for (std::size_t i = 0; i < shape.size(); ++i)
    axis_sizes_.push_back(sizes[i] / std::max<std::int64_t>(1, sizes[i + 1]));
  if (row_sizes_.empty()) row_sizes_.push_back(1);
  return true;
}

bool VariablePuts::find_range(const HyperslabView& box, std::size_t axis, std::int64_t* first,
                              std::int64_t* last) const {
  *first = *last = 0;
  if (axis > 0) {
    *first = box.start[axis - 1];
    *last = box.end_of(static_cast<int>(axis) - 1) - 1;
  }
  for (std::size_t i = 0; axis == 0 && i < box.start.size(); ++i) {
    std::int64_t end = 0;
    if (__builtin_mul_overflow(box.end_of(static_cast<int>(i)) - 1, row_sizes_[i], &end) ||
        __builtin_add_overflow(*last, end, last))
      return false;
    *first += box.start[i] * row_sizes_[i];
  }
  return *last < most_elements;
}

std::optional<VariablePuts::Key> VariablePuts::key_of(const HyperslabView& box) const {
  Key key{};
  double least = 0;
  for (std::size_t axis = 0; axis < axis_sizes_.size(); ++axis) {
    std::int64_t first = 0, last = 0;
    if (!find_range(box, axis, &first, &last)) return std::nullopt;
    const double part = static_cast<double>(last - first + 1) / static_cast<double>(axis_sizes_[axis]);
    if (axis > 0 && part >= least) continue;
    least = part;
    const auto level = std::bit_width(static_cast<std::uint64_t>(last - first));
    key = {static_cast<std::int64_t>(axis), static_cast<std::int64_t>(level), first};
  }
  return key;
}

std::optional<VariablePuts::Place> VariablePuts::find(const HyperslabView& box) const {
  const auto key = key_of(box);
  if (!key) return std::nullopt;
  const auto numbers = numbers_of(box);
  const auto [begin, end] = puts_.equal_range(*key);
  for (auto each = begin; each != end; ++each)
    if (!each->second.is_changed && each->second.box == numbers) return each->second.place;
  return std::nullopt;
}

std::optional<VariablePuts::Place> VariablePuts::take_free(std::uint64_t bytes) {
  const auto found = free_.lower_bound(bytes);
  if (found == free_.end() || found->first > 2 * bytes) return std::nullopt;
  const Place place = found->second;
  free_.erase(found);
  return place;
}

void VariablePuts::add(const HyperslabView& box, const Place* place) {
  const auto key = key_of(box);
  if (!key) return give_up();
  std::size_t looks = 0;
  for (const auto& [axis, level] : levels_) {
    std::int64_t first = 0, last = 0;
    if (!find_range(box, static_cast<std::size_t>(axis), &first, &last)) return give_up();
    auto each = puts_.lower_bound({axis, level, first - (std::int64_t{1} << level) + 1});
    while (each != puts_.end() && each->first <= Key{axis, level, last}) {
      if (++looks > most_looks) return forget();
      Put& earlier = each->second;
      const std::int64_t common = common_elements(earlier.box, box);
      earlier.is_changed = earlier.is_changed || common > 0;
      const bool is_covered = common == earlier.elements;
      if (is_covered) free_.emplace(earlier.place.bytes, earlier.place);
      each = is_covered ? puts_.erase(each) : std::next(each);
    }
  }
  if (place == nullptr || puts_.size() >= most_puts) return;
  puts_.emplace(*key, Put{numbers_of(box), box.elements(), *place});
  levels_.insert({(*key)[0], (*key)[1]});
}

void VariablePuts::forget() noexcept {
  puts_.clear();
  free_.clear();
  levels_.clear();
}

void VariablePuts::give_up() noexcept {
  forget();
  is_given_up_ = true;
}

}  // namespace sluice::api
