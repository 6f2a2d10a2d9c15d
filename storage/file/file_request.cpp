#include "sluice/storage/file_request.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::storage {
namespace {

/// The number of runs made at once: they stay in the cache until they become extents.
constexpr std::int64_t most_runs_at_once = 1024;

/// A hyperslab cut into rows. The elements that share the indexes of the first `outer` dimensions form a row.
/// Rows are numbered in the order of the elements.
struct Rows {
  std::size_t outer = 0;
  std::int64_t count = 1;     ///< number of rows
  std::int64_t elements = 1;  ///< elements of one row
  std::int64_t runs = 1;      ///< largest number of runs of one row
};

/// Rows [first, last).
struct RowRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The largest number of runs from the dimensions `first` and later.
std::int64_t most_runs(const formats::HyperslabView& slab, std::size_t first) {
  const std::size_t dimensions = slab.count.size();
  std::int64_t runs = 1;
  for (std::size_t d = first; d < dimensions; ++d) {
    const bool is_row = d + 1 == dimensions && slab.stride_of(static_cast<int>(d)) == 1;
    if (!is_row) runs *= slab.count[d];
  }
  return runs;
}

/// Divides the slab into the fewest rows that have at most `limit` runs each.
Rows rows_of(const formats::HyperslabView& slab, std::int64_t limit) {
  Rows rows;
  const std::size_t dimensions = slab.count.size();
  while (rows.outer < dimensions && most_runs(slab, rows.outer) > limit)
    rows.count *= slab.count[rows.outer++];
  for (std::size_t d = rows.outer; d < dimensions; ++d) rows.elements *= slab.count[d];
  rows.runs = most_runs(slab, rows.outer);
  return rows;
}

/// Calls visit(part) for parts of the slab that together are these rows. A part combines as many indexes of
/// the innermost outer dimension as give about `most_runs` runs.
template <class Visit>
void for_each_part(const formats::HyperslabView& slab, const Rows& rows, const RowRange& range,
                   std::int64_t most_runs, const Visit& visit) {
  if (rows.outer == 0) return visit(slab);
  formats::Hyperslab part{{slab.start.begin(), slab.start.end()},
                          {slab.count.begin(), slab.count.end()},
                          {slab.stride.begin(), slab.stride.end()}};
  const std::int64_t most_rows = std::max<std::int64_t>(1, most_runs / rows.runs);
  const std::size_t inner = rows.outer - 1;
  for (std::int64_t row = range.first; row < range.last;) {
    std::int64_t rest = row;
    for (std::size_t d = rows.outer; d-- > 0;) {
      part.start[d] = slab.start[d] + rest % slab.count[d] * slab.stride_of(static_cast<int>(d));
      part.count[d] = 1;
      rest /= slab.count[d];
    }
    part.count[inner] = std::min({range.last - row, slab.count[inner] - row % slab.count[inner], most_rows});
    visit(part.view());
    row += part.count[inner];
  }
}

}  // namespace

FileRequest::FileRequest(const formats::Header& header, const formats::Placement& placement,
                         std::span<Access> accesses, Kind kind)
    : header_(header), placement_(placement), accesses_(accesses), kind_(kind) {
  codecs_.reserve(accesses.size());
  for (Access& access : accesses) codecs_.emplace_back(header, access, placement.byte_order());
}

void FileRequest::next_batch(std::size_t limit) {
  extents_.clear();
  bytes_ = 0;
  is_ascending_ = true;
  while (extents_.size() < limit && has_more()) {
    auto place = placement_.place_of(accesses_[access_].varid);
    const bool is_at_begin = slab_ == 0 && row_ == 0;
    if (is_at_begin && append_by_pattern(*place)) {
      ++access_;
      continue;
    }
    const auto slabs = accesses_[access_].slabs;
    const std::size_t first = extents_.size();
    // An access that is no larger than a batch ends in the batch in which it begins: its elements may be
    // adjacent in the file in any order.
    const std::size_t most = first + limit;
    while (slab_ < slabs.size() && extents_.size() < most) append_slab(*place, limit, most - extents_.size());
    if (slab_ < slabs.size()) break;
    if (is_at_begin && is_list_named_again()) keep_pattern(std::move(place), first);
    ++access_;
    slab_ = 0;
    element_ = 0;
  }
  finish_batch();
}

bool FileRequest::is_list_named_again() const noexcept {
  constexpr std::size_t worthwhile_slabs = 16;
  constexpr std::size_t accesses_ahead = 8;
  const auto slabs = accesses_[access_].slabs;
  if (slabs.size() < worthwhile_slabs) return false;
  const auto next = accesses_.subspan(access_ + 1);
  return std::ranges::any_of(next.first(std::min(next.size(), accesses_ahead)),
                             [&](const Access& access) { return access.slabs.data() == slabs.data(); });
}

bool FileRequest::append_by_pattern(const formats::VariablePlace& place) {
  const auto* slabs = accesses_[access_].slabs.data();
  const auto access = static_cast<std::int32_t>(access_);
  for (const Pattern& pattern : patterns_) {
    if (pattern.slabs != slabs) continue;
    const auto displacement = place.displacement_from(*pattern.place);
    if (!displacement) continue;
    const std::size_t first = extents_.size();
    is_ascending_ = false;  // not known yet
    bytes_ += pattern.bytes;
    extents_.resize(first + pattern.extents.size());
    std::ranges::transform(pattern.extents, extents_.data() + first, [&](Extent extent) {
      extent.offset_bytes += displacement->of(extent.offset_bytes);
      extent.access = access;
      return extent;
    });
    return true;
  }
  return false;
}

void FileRequest::keep_pattern(std::unique_ptr<formats::VariablePlace> place, std::size_t first) {
  constexpr std::size_t most_patterns = 4;
  const auto made = std::span(extents_).subspan(first);
  Pattern pattern{accesses_[access_].slabs.data(), std::move(place), {made.begin(), made.end()}};
  for (const Extent& extent : made) pattern.bytes += extent.length_bytes();
  sort_extents(pattern.extents);
  std::ranges::copy(pattern.extents, made.begin());
  if (patterns_.size() < most_patterns) {
    patterns_.push_back(std::move(pattern));
  } else {
    patterns_[oldest_pattern_++ % most_patterns] = std::move(pattern);
  }
}

void FileRequest::append_slab(const formats::VariablePlace& place, std::size_t limit, std::size_t capacity) {
  if (const auto run = place.single_run(accesses_[access_].slabs[slab_])) {
    if (run->length_bytes > 0) append_run(*run, place.element_bytes());
    ++slab_;
  } else {
    append_rows(place, limit, capacity);
  }
}

void FileRequest::append_rows(const formats::VariablePlace& place, std::size_t limit, std::size_t capacity) {
  const formats::HyperslabView& slab = accesses_[access_].slabs[slab_];
  // Uses the same rows in each batch of a slab: they depend on the limit, not on the space that is left.
  const std::int64_t at_once = std::min(static_cast<std::int64_t>(limit), most_runs_at_once);
  const Rows rows = rows_of(slab, at_once);
  const std::int64_t last =
      std::min(rows.count, row_ + std::max<std::int64_t>(1, static_cast<std::int64_t>(capacity) / rows.runs));
  make_room((last - row_) * rows.runs);
  for_each_part(slab, rows, {row_, last}, at_once, [&](const formats::HyperslabView& part) {
    runs_.clear();
    place.append(part, runs_);
    for (const auto& run : runs_) append_run(run, place.element_bytes());
  });
  row_ = last;
  if (row_ == rows.count) {
    row_ = 0;
    ++slab_;
  }
}

void FileRequest::make_room(std::int64_t extents) {
  const std::size_t size = extents_.size() + static_cast<std::size_t>(extents);
  if (size > extents_.capacity()) extents_.reserve(std::max(size, 2 * extents_.capacity()));
}

void FileRequest::append_run(const formats::FileRun& run, std::int64_t element_bytes) {
  // Uses a shift where a division would dominate the cost.
  const std::int64_t elements =
      run.length_bytes >> std::countr_zero(static_cast<std::uint64_t>(element_bytes));
  const auto access = static_cast<std::int32_t>(access_);
  const std::int64_t end = extents_.empty() ? run.offset_bytes - 1 : extents_.back().end();
  // Slabs of a list that are adjacent in the file are adjacent in the buffer, too.
  if (end == run.offset_bytes && extents_.back().access == access) {
    extents_.back().elements += elements;
  } else {
    if (end > run.offset_bytes) is_ascending_ = false;
    extents_.push_back(
        {run.offset_bytes, elements, element_, access, static_cast<std::int32_t>(element_bytes)});
  }
  element_ += elements;
  bytes_ += run.length_bytes;
}

void FileRequest::finish_batch() {
  reach_.clear();
  if (is_ascending_) return;
  sort_extents(extents_);
  if (!has_overlaps(extents_)) return;
  if (kind_ == Kind::put) {
    remove_overlaps(extents_);
    bytes_ = 0;
    for (const Extent& extent : extents_) bytes_ += extent.length_bytes();
  } else {
    std::int64_t end = 0;
    for (const Extent& extent : extents_) reach_.push_back(end = std::max(end, extent.end()));
  }
}

void FileRequest::give_up() noexcept {
  extents_.clear();
  reach_.clear();
  bytes_ = 0;
  access_ = accesses_.size();
}

std::int64_t FileRequest::record_end() const {
  if (header_.record_dimension() < 0) return 0;
  std::int64_t end = header_.record_count;
  const formats::HyperslabView* seen = nullptr;
  for (const Access& access : accesses_) {
    if (!header_.is_record_variable(access.varid) || access.slabs.data() == seen) continue;
    seen = access.slabs.data();
    for (const auto& slab : access.slabs) {
      if (slab.elements() > 0) end = std::max(end, slab.end_of(0));
    }
  }
  return end;
}

FileRange FileRequest::hull() const noexcept {
  if (extents_.empty()) return {};
  return {extents_.front().offset_bytes, reach_.empty() ? extents_.back().end() : reach_.back()};
}

FileRequest::Runs FileRequest::runs(std::int64_t gap_bytes) const noexcept {
  Runs runs;
  std::int64_t end = 0;
  for (const Extent& extent : extents_) {
    if (runs.count == 0 || extent.offset_bytes - end > gap_bytes) {
      ++runs.count;
      end = extent.offset_bytes;
    }
    if (extent.end() > end) {
      runs.bytes += extent.end() - end;
      end = extent.end();
    }
  }
  return runs;
}

std::span<const Extent> FileRequest::extents_in(const FileRange& range) const {
  const auto begins_before = [](const Extent& extent, std::int64_t offset) {
    return extent.offset_bytes < offset;
  };
  const auto last = std::lower_bound(extents_.begin(), extents_.end(), range.end, begins_before);
  auto first = extents_.begin();
  if (reach_.empty()) {
    first = std::partition_point(extents_.begin(), last,
                                 [&](const Extent& extent) { return extent.end() <= range.begin; });
  } else {
    const auto reached = std::upper_bound(reach_.begin(), reach_.end(), range.begin);
    first += std::min(reached - reach_.begin(), last - extents_.begin());
  }
  return {first, last};
}

}  // namespace sluice::storage
