#include "sluice/matcher/table_scan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "range_bounds.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::matcher {

namespace {

/// Null when the view does not have the segment.
const LogSegment* find_segment(const LogView& log, SegmentId segment) {
  const auto found = std::find_if(log.data.rbegin(), log.data.rend(),
                                  [&](const LogSegment& own) { return own.segment == segment; });
  return found == log.data.rend() ? nullptr : &*found;
}

}  // namespace

ListedBoxes::ListedBoxes(std::span<const formats::HyperslabView> list) : boxes(list) {
  for (const formats::HyperslabView& box : list) {
    const std::int64_t of_box = box.elements();
    if (of_box == 0) continue;
    elements += static_cast<std::uint64_t>(of_box);
    if (elements > static_cast<std::uint64_t>(max_elements))
      throw Error(NC_EIO, "a list in a request table has too many elements");
    first_dimension_end = std::max(first_dimension_end, box.end_of(0));
  }
}

ListedBoxes::ListedBoxes(std::span<const formats::HyperslabView> some, std::vector<std::uint64_t> firsts)
    : ListedBoxes(some) {
  first_elements = std::move(firsts);
  const auto views = boxes.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto limit = static_cast<std::uint64_t>(max_elements);
    const auto of_box = static_cast<std::uint64_t>(views[i].elements());
    if (first_elements[i] > limit || of_box > limit - first_elements[i])
      throw Error(NC_EIO, "a part of a list has too many elements");
    elements = std::max(elements, first_elements[i] + of_box);
  }
}

const std::shared_ptr<const ListedBoxes>& list_of(const TableEntry& request,
                                                  std::span<const std::shared_ptr<const ListedBoxes>> lists) {
  if (request.list >= lists.size() ||
      lists[request.list]->boxes.views()[0].start.size() != request.dimensions) {
    throw Error(NC_EIO, "a request table names list " + std::to_string(request.list) + " of " +
                            std::to_string(lists.size()) + ", or one of other dimensions");
  }
  // Below 2^63: all three are bounded.
  if (request.log_offset + lists[request.list]->elements * request.element_bytes > max_log_offset)
    throw Error(NC_EIO, "a list's data reaches beyond any log");
  return lists[request.list];
}

void TableScan::read(std::uint32_t writer, const LogView& log, const Sinks& sinks, Visibility reach) {
  const bool is_limited = reach != Visibility::everything || log.is_cut || log.is_complete;
  const TablePosition end = is_limited ? log.published : TablePosition{};
  const std::size_t chunks = std::min<std::uint64_t>(log.tables.size(), end.chunks);
  if (chunks == 0) return;
  Cursor& cursor = cursors_[writer];
  if (cursor.chunk >= chunks) return;
  for (;; ++cursor.chunk, cursor.position = 0) {
    const bool is_last = cursor.chunk + 1 == end.chunks;
    if (!read_chunk(writer, log, is_last ? end.bytes : TablePosition{}.bytes, sinks)) return;
    if (cursor.chunk + 1 >= chunks) return;
  }
}

bool TableScan::read_chunk(std::uint32_t writer, const LogView& log, std::uint64_t end, const Sinks& sinks) {
  Cursor& cursor = cursors_[writer];
  const std::span<const std::byte> chunk = memory_.contents(log.tables.at(cursor.chunk).segment);
  TableReader reader(chunk, cursor.position, end);
  TableEntry entry;
  constexpr std::size_t length_word_bytes = 8;
  while (reader.next(entry)) {
    const bool is_newer = entry.kind == EntryKind::segment && expects_newer_memory_ &&
                          find_segment(log, entry.segment_id) == nullptr;
    if (is_newer) return false;
    const std::size_t first = std::exchange(cursor.position, reader.position());
    switch (entry.kind) {
      case EntryKind::segment:
        if (cursor.has_all_ranges) break;
        add_range(log,
                  {writer, entry.log_offset, entry.length_bytes, entry.segment_id, entry.segment_offset});
        break;
      case EntryKind::list:
        cursor.lists.push_back(std::make_shared<const ListedBoxes>(entry.boxes));
        break;
      case EntryKind::list_request:
        take_list_request(cursor, entry, sinks);
        break;
      default:
        sinks.take(entry, chunk.subspan(length_word_bytes + first, cursor.position - first));
    }
  }
  return true;
}

void TableScan::begin_at(std::uint32_t writer, const TablePosition& begin, std::span<const LogRange> ranges) {
  Cursor& cursor = cursors_[writer];
  cursor.first_list = begin.lists;
  cursor.chunk = begin.chunks == 0 ? 0 : begin.chunks - 1;
  cursor.position = begin.chunks == 0 ? 0 : begin.bytes;
  cursor.ranges.assign(ranges.begin(), ranges.end());
  cursor.has_all_ranges = true;
}

void TableScan::take_list_request(const Cursor& cursor, TableEntry request, const Sinks& sinks) {
  if (request.list < cursor.first_list)
    throw Error(NC_EIO, "a request table names a list of an earlier step");
  request.list -= cursor.first_list;
  const std::shared_ptr<const ListedBoxes>& list = list_of(request, cursor.lists);
  if (sinks.take_list) return sinks.take_list(request, list);
  for_each_box(request, *list,
               [&](const TableEntry& entry) { sinks.take(entry, encoded_entry(entry, scratch_)); });
}

void TableScan::add_range(const LogView& log, const LogRange& range) {
  const LogSegment* const owned = find_segment(log, range.segment);
  std::vector<LogRange>& ranges = cursors_[range.writer].ranges;
  const bool ascends = ranges.empty() || range.log_offset >= ranges.back().log_offset;
  if (owned == nullptr || !lies_within(range, owned->bytes) || !ascends) {
    throw Error(NC_EIO, "a request table of writer " + std::to_string(range.writer) +
                            " places log data where it has no memory (segment " +
                            std::to_string(range.segment) + ")");
  }
  if (!ranges.empty()) {  // the unused end of the segment before
    LogRange& last = ranges.back();
    last.length_bytes = std::min(last.length_bytes, range.log_offset - last.log_offset);
  }
  ranges.push_back(range);
}

std::span<const LogRange> TableScan::ranges(std::uint32_t writer) const noexcept {
  const auto found = cursors_.find(writer);
  if (found == cursors_.end()) return {};
  return found->second.ranges;
}

}  // namespace sluice::matcher
