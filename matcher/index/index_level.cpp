#include "index_level.hpp"

#include <algorithm>
#include <utility>

namespace sluice::matcher {
namespace {

/// The shape that holds all boxes.
std::vector<std::int64_t> extents_of(const BoxList& boxes) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(boxes.dimensions()), 1);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const formats::HyperslabView box = boxes.box(i);
    for (std::size_t d = 0; d < extents.size(); ++d)
      extents[d] = std::max(extents[d], box.end_of(static_cast<int>(d)));
  }
  return extents;
}

formats::CommonRange common_range(const formats::HyperslabView& read, const formats::HyperslabView& write,
                                  std::size_t d) noexcept {
  const auto dimension = static_cast<int>(d);
  return formats::intersect(read.start[d], read.count[d], read.stride_of(dimension), write.start[d],
                            write.count[d], write.stride_of(dimension));
}

void add_hit(Hits& hits, const Hit& hit, std::int64_t elements) {
  hits.list.push_back(hit);
  hits.list.back().covers_read = elements == hits.read_elements;
  if (hits.elements <= hits.read_elements) hits.elements += elements;
}

}  // namespace

std::int64_t count_common(const formats::HyperslabView& read, const formats::HyperslabView& write) noexcept {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < read.start.size() && elements > 0; ++d)
    elements *= common_range(read, write, d).count;
  return elements;
}

IndexLevel::IndexLevel(const BoxList& boxes) : linearisation_(extents_of(boxes)), boxes_(boxes.dimensions()) {
  std::vector<Run> runs;
  runs.reserve(boxes.size());
  BoxList others(boxes.dimensions());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const formats::HyperslabView box = boxes.box(i);
    const auto interval = linearisation_.is_usable() ? linearisation_.interval_of(box) : std::nullopt;
    if (interval) {
      runs.push_back({*interval, boxes.id(i)});
    } else {
      others.add(box, boxes.id(i));
    }
  }
  runs_ = RunTree(std::move(runs));
  boxes_ = BoxTree(others);
}

/// The requests of a level were added one after the other.
void IndexLevel::order_runs() {
  is_ordered_ = true;
  if (runs_.size() == 0 || boxes_.boxes().size() > 0 || !runs_.is_disjoint()) return;
  first_order_ = runs_.id(0).order;
  std::uint32_t last = first_order_;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    first_order_ = std::min(first_order_, runs_.id(i).order);
    last = std::max(last, runs_.id(i).order);
  }
  if (last - first_order_ != runs_.size() - 1) return;
  by_order_.resize(runs_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i)
    by_order_[runs_.id(i).order - first_order_] = static_cast<std::uint32_t>(i);
}

bool IndexLevel::collect_next(const formats::HyperslabView& read, std::uint16_t number, Hits& hits) {
  if (!std::exchange(follows_, false)) return false;
  if (!is_ordered_) order_runs();
  const std::uint64_t place = next_order_ - first_order_;  // wraps around to a large value below the first
  if (place >= by_order_.size() || !linearisation_.contains(read)) return false;
  const auto interval = linearisation_.interval_of(read);
  const std::uint32_t i = by_order_[place];
  const Interval run = runs_.interval(i);
  if (!interval || interval->begin != run.begin || interval->end != run.end) return false;
  const RequestId& id = runs_.id(i);
  hits.list.push_back({id.sequence, id.order, i, number, true, true, true});
  hits.elements += hits.read_elements;
  note_hit(hits.list.back());
  return true;
}

void IndexLevel::collect(const formats::HyperslabView& read, std::uint16_t number, Hits& hits) {
  if (runs_.size() > 0) {
    const std::size_t before = hits.list.size();
    collect_runs(read, number, hits);
    const bool has_hits = hits.list.size() > before;
    hits.may_overlap = hits.may_overlap || (has_hits && (before > 0 || !runs_.is_disjoint()));
  }
  if (boxes_.boxes().size() > 0) {
    const std::size_t before = hits.list.size();
    collect_boxes(read, number, hits);
    hits.may_overlap = hits.may_overlap || hits.list.size() > before;
  }
}

void IndexLevel::collect_runs(const formats::HyperslabView& read, std::uint16_t number, Hits& hits) {
  PositionCursor cursor(linearisation_, read);
  if (cursor.is_empty()) return;
  // The read and the runs skip each other's gaps. All runs from i on begin at or behind run i, so positions
  // of the read before run i's begin do not matter to them.
  std::int64_t position = cursor.hull().begin;
  std::size_t i = runs_.first_ending_behind(position);
  while (i < runs_.size()) {
    const Interval run = runs_.interval(i);
    const std::int64_t in_read = cursor.next(run.begin);
    if (in_read >= cursor.hull().end) return;
    if (in_read < run.end) {
      const RequestId& id = runs_.id(i);
      add_hit(hits, {id.sequence, id.order, static_cast<std::uint32_t>(i), number, true, false, false},
              common_elements(read, cursor, run));
      // Disjoint runs behind this one begin at its end or later.
      if (runs_.is_disjoint() && run.end >= cursor.hull().end) return;
    } else {
      position = in_read;
    }
    i = runs_.next_ending_behind(position, i + 1);
  }
}

std::int64_t IndexLevel::common_elements(const formats::HyperslabView& read, PositionCursor& cursor,
                                         const Interval& run) {
  if (run.end - run.begin == 1) return 1;
  if (cursor.is_contiguous())
    return std::min(run.end, cursor.hull().end) - std::max(run.begin, cursor.hull().begin);
  linearisation_.box_of(run, start_, count_);
  return count_common(
      read, {.start = {start_.data(), start_.size()}, .count = {count_.data(), count_.size()}, .stride = {}});
}

void IndexLevel::collect_boxes(const formats::HyperslabView& read, std::uint16_t number, Hits& hits) const {
  boxes_.visit_near(read, [&](std::size_t i) {
    const std::int64_t elements = count_common(read, boxes_.boxes().box(i));
    if (elements == 0) return;
    const RequestId& id = boxes_.boxes().id(i);
    add_hit(hits, {id.sequence, id.order, static_cast<std::uint32_t>(i), number, false, false, false},
            elements);
  });
}

formats::HyperslabView IndexLevel::box(const Hit& hit, Indexes& start, Indexes& count) const {
  if (!hit.is_run) return boxes_.boxes().box(hit.index);
  linearisation_.box_of(runs_.interval(hit.index), start, count);
  return {.start = {start.data(), start.size()}, .count = {count.data(), count.size()}, .stride = {}};
}

void IndexLevel::describe(const Hit& hit, const formats::HyperslabView& read, Piece& piece) const {
  const RequestId& id = this->id(hit);
  piece.writer = id.writer;
  piece.is_fill = (id.log_offset & RequestId::fill_bit) != 0;
  piece.sequence = id.sequence;
  piece.log_offset = id.log_offset & ~RequestId::fill_bit;

  if (hit.is_same_box) {
    piece.write_count.assign(read.count.begin(), read.count.end());
    piece.ranges.resize(read.start.size());
    for (std::size_t d = 0; d < read.start.size(); ++d) piece.ranges[d] = {read.count[d], 0, 1, 0, 1};
    return;
  }
  Indexes start;
  Indexes count;
  const formats::HyperslabView box = this->box(hit, start, count);
  piece.write_count.assign(box.count.begin(), box.count.end());
  piece.ranges.resize(read.start.size());
  for (std::size_t d = 0; d < read.start.size(); ++d) piece.ranges[d] = common_range(read, box, d);
}

void IndexLevel::append_to(BoxList& list) const {
  Indexes start;
  Indexes count;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    linearisation_.box_of(runs_.interval(i), start, count);
    list.add({.start = {start.data(), start.size()}, .count = {count.data(), count.size()}, .stride = {}},
             runs_.id(i));
  }
  for (std::size_t i = 0; i < boxes_.boxes().size(); ++i)
    list.add(boxes_.boxes().box(i), boxes_.boxes().id(i));
}

}  // namespace sluice::matcher
