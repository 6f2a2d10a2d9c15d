#include <algorithm>
#include <utility>

#include "fold.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"
#include "sluice/matcher/read_order.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::replay {
namespace {

/// Adds a dimension that is slower than all of `dimensions` (fastest first). Extends the last dimension
/// instead if the new one continues it.
void add_slower(std::vector<CopyDimension>& dimensions, const CopyDimension& slower) {
  if (!dimensions.empty()) {
    CopyDimension& last = dimensions.back();
    if (slower.source_step_bytes == last.source_step_bytes * last.count &&
        slower.destination_step == last.destination_step * last.count) {
      last.count *= slower.count;
      return;
    }
  }
  dimensions.push_back(slower);
}

/// Also safe for an empty hyperslab whose other counts would overflow.
std::int64_t elements_of(const formats::HyperslabView& read) noexcept {
  return std::ranges::find(read.count, 0) != read.count.end() ? 0 : read.elements();
}

}  // namespace

PlanBuilder::PlanBuilder(std::size_t element_bytes)
    : element_bytes_(static_cast<std::int64_t>(element_bytes)) {}

void PlanBuilder::add(const formats::HyperslabView& read, std::span<const matcher::Piece> pieces,
                      const matcher::Match& match) {
  for (const matcher::Piece& piece : pieces) add_piece(read, piece);
  finish(read, match);
}

void PlanBuilder::add(const formats::HyperslabView& read, matcher::WriteIndex& index) {
  const auto match = index.match(read, [&](const matcher::Piece& piece) { add_piece(read, piece); });
  finish(read, match);
}

void PlanBuilder::add_piece(const formats::HyperslabView& read, const matcher::Piece& piece) {
  const Copy copy = compile(read, piece, plan_.elements);
  append(copy, piece_dimensions_);
}

/// Reads in the order of the writes need no sorting: their copies then merge.
void PlanBuilder::add(std::span<const formats::HyperslabView> reads, matcher::WriteIndex& index) {
  constexpr std::size_t reads_at_once = 1024;
  while (reads.size() > reads_at_once) {
    const std::size_t before = plan_.copies.size();
    for (const formats::HyperslabView& read : reads.first(reads_at_once)) add(read, index);
    reads = reads.subspan(reads_at_once);
    if (plan_.copies.size() - before > reads_at_once / 4) break;
  }
  const std::vector<std::uint32_t> order = matcher::ascending_order(reads);
  if (!order.empty()) {
    add_in_order(reads, order, index);
    return;
  }
  for (const formats::HyperslabView& read : reads) add(read, index);
}

void PlanBuilder::add_in_order(std::span<const formats::HyperslabView> reads,
                               std::span<const std::uint32_t> order, matcher::WriteIndex& index) {
  struct Place {
    std::int64_t destination = 0;
    std::size_t first_copy = 0;
    std::size_t copies = 0;
    matcher::Match match;
  };
  std::vector<Place> places(reads.size());
  std::int64_t elements = plan_.elements;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    places[i].destination = elements;
    elements += elements_of(reads[i]);
    if (elements > matcher::max_elements) throw Error(NC_EIO, "a read has too many elements");
  }
  Plan found;
  for (std::size_t k = 0; k < order.size(); ++k) {
    // The memory for a read is scattered but known in advance. Prefetches the position of the numbers first,
    // then the numbers.
    if (k + 16 < order.size()) {
      __builtin_prefetch(&reads[order[k + 16]]);
      __builtin_prefetch(&places[order[k + 16]], 1);
      __builtin_prefetch(reads[order[k + 8]].start.data());
      __builtin_prefetch(reads[order[k + 8]].count.data());
    }
    const std::uint32_t i = order[k];
    Place& place = places[i];
    place.first_copy = found.copies.size();
    place.match = index.match(reads[i], [&](const matcher::Piece& piece) {
      Copy copy = compile(reads[i], piece, place.destination);
      copy.first_dimension = static_cast<std::uint32_t>(found.dimensions.size());
      found.copies.push_back(copy);
      found.dimensions.insert(found.dimensions.end(), piece_dimensions_.begin(), piece_dimensions_.end());
    });
    place.copies = found.copies.size() - place.first_copy;
  }
  // Copies only merge in the order of the destination.
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i + 8 < reads.size()) __builtin_prefetch(found.copies.data() + places[i + 8].first_copy);
    for (const Copy& copy : std::span(found.copies).subspan(places[i].first_copy, places[i].copies)) {
      append(copy, found.dimensions_of(copy));
    }
    finish(reads[i], places[i].match);
  }
}

void PlanBuilder::finish(const formats::HyperslabView& read, const matcher::Match& match) {
  plan_.elements += elements_of(read);
  if (plan_.elements > matcher::max_elements) throw Error(NC_EIO, "a read has too many elements");
  plan_.needs_fill = plan_.needs_fill || !match.is_covered;
  plan_.depends_on_clock = plan_.depends_on_clock || match.depends_on_clock;
}

Copy PlanBuilder::compile(const formats::HyperslabView& read, const matcher::Piece& piece,
                          std::int64_t destination) {
  std::vector<CopyDimension>& dimensions = piece_dimensions_;
  dimensions.clear();
  std::int64_t source = 0;
  std::int64_t source_pitch = element_bytes_;
  std::int64_t destination_pitch = 1;
  for (std::size_t d = read.start.size(); d-- > 0;) {
    const formats::CommonRange& range = piece.ranges[d];
    source += range.b_first * source_pitch;
    destination += range.a_first * destination_pitch;
    if (range.count > 1) {
      const std::int64_t source_step = piece.is_fill ? 0 : range.b_step * source_pitch;
      add_slower(dimensions, {range.count, source_step, range.a_step * destination_pitch});
    }
    source_pitch *= piece.write_count[d];
    destination_pitch *= read.count[d];
  }
  std::ranges::reverse(dimensions);
  return {.writer = piece.is_fill ? 0 : piece.writer,
          .dimensions = static_cast<std::uint16_t>(dimensions.size()),
          .is_fill = piece.is_fill,
          .log_offset = piece.is_fill ? 0 : piece.log_offset + static_cast<std::uint64_t>(source),
          .destination = destination};
}

void PlanBuilder::append(Copy copy, std::span<const CopyDimension> dimensions) {
  if (merge_with_last(copy, dimensions)) return;
  copy.first_dimension = static_cast<std::uint32_t>(plan_.dimensions.size());
  plan_.copies.push_back(copy);
  plan_.dimensions.insert(plan_.dimensions.end(), dimensions.begin(), dimensions.end());
}

bool PlanBuilder::is_run(std::span<const CopyDimension> dimensions, bool is_fill) const noexcept {
  if (dimensions.empty()) return true;
  return dimensions.size() == 1 && dimensions[0].destination_step == 1 &&
         dimensions[0].source_step_bytes == (is_fill ? 0 : element_bytes_);
}

bool PlanBuilder::merge_with_last(const Copy& copy, std::span<const CopyDimension> dimensions) {
  if (plan_.copies.empty()) return false;
  Copy& last = plan_.copies.back();
  if (last.writer != copy.writer || last.is_fill != copy.is_fill) return false;
  if (!is_run(dimensions, copy.is_fill) || !is_run(plan_.dimensions_of(last), copy.is_fill)) return false;
  const std::int64_t before = last.dimensions == 0 ? 1 : plan_.dimensions.back().count;
  const std::int64_t bytes_before = copy.is_fill ? 0 : before * element_bytes_;
  if (copy.destination != last.destination + before) return false;
  if (copy.log_offset != last.log_offset + static_cast<std::uint64_t>(bytes_before)) return false;
  if (last.dimensions == 0) {
    last.dimensions = 1;
    last.first_dimension = static_cast<std::uint32_t>(plan_.dimensions.size());
    plan_.dimensions.push_back({1, copy.is_fill ? 0 : element_bytes_, 1});
  }
  plan_.dimensions.back().count += dimensions.empty() ? 1 : dimensions[0].count;
  return true;
}

Plan PlanBuilder::take() {
  return fold(std::exchange(plan_, Plan{}));
}

}  // namespace sluice::replay
