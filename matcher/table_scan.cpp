#include "sluice/matcher/table_scan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "range_bounds.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::matcher {

void TableScan::read(std::uint32_t writer, const LogView& log, const Sink& sink, Reach reach) {
  const TablePosition end = reach == Reach::published || log.is_cut ? log.published : TablePosition{};
  const std::size_t chunks = std::min<std::uint64_t>(log.tables.size(), end.chunks);
  if (chunks == 0) return;
  Cursor& cursor = cursors_[writer];
  for (;; ++cursor.chunk, cursor.position = 0) {
    const bool is_last = cursor.chunk + 1 == end.chunks;
    read_chunk(writer, log, is_last ? end.bytes : TablePosition{}.bytes, sink);
    if (cursor.chunk + 1 >= chunks) return;
  }
}

void TableScan::read_chunk(std::uint32_t writer, const LogView& log, std::uint64_t end, const Sink& sink) {
  Cursor& cursor = cursors_[writer];
  const std::span<const std::byte> chunk = memory_.contents(log.tables.at(cursor.chunk).segment);
  TableReader reader(chunk, cursor.position, end);
  TableEntry entry;
  constexpr std::size_t length_word_bytes = 8;
  while (reader.next(entry)) {
    const std::size_t first = std::exchange(cursor.position, reader.position());
    switch (entry.kind) {
      case EntryKind::segment:
        add_range(log,
                  {writer, entry.log_offset, entry.length_bytes, entry.segment_id, entry.segment_offset});
        break;
      case EntryKind::list:
        cursor.lists.push_back(copy_of(entry.boxes));
        break;
      case EntryKind::list_request:
        expand(cursor, entry, sink);
        break;
      default:
        sink(entry, chunk.subspan(length_word_bytes + first, cursor.position - first));
    }
  }
}

TableScan::List TableScan::copy_of(std::span<const formats::HyperslabView> boxes) {
  List list;
  std::size_t numbers = 0;
  for (const formats::HyperslabView& box : boxes)
    numbers += box.start.size() + box.count.size() + box.stride.size();
  list.numbers.reserve(numbers);  // spans into it stay
  const auto keep = [&](std::span<const std::int64_t> values) {
    const std::size_t first = list.numbers.size();
    list.numbers.insert(list.numbers.end(), values.begin(), values.end());
    return std::span<const std::int64_t>(list.numbers).subspan(first);
  };
  list.boxes.reserve(boxes.size());
  for (const formats::HyperslabView& box : boxes)
    list.boxes.push_back({.start = keep(box.start), .count = keep(box.count), .stride = keep(box.stride)});
  return list;
}

void TableScan::expand(const Cursor& cursor, const TableEntry& request, const Sink& sink) {
  if (request.list >= cursor.lists.size() ||
      cursor.lists[request.list].boxes[0].start.size() != request.dimensions) {
    throw Error(NC_EIO, "a request table names list " + std::to_string(request.list) + " of " +
                            std::to_string(cursor.lists.size()) + ", or one of other dimensions");
  }
  TableEntry entry;
  entry.varid = request.varid;
  entry.sequence = request.sequence;
  entry.log_offset = request.log_offset;
  for (const formats::HyperslabView& box : cursor.lists[request.list].boxes) {
    const auto elements = static_cast<std::uint64_t>(box.elements());
    if (elements == 0) continue;
    entry.box = box;
    sink(entry, encoded_entry(entry, scratch_));
    entry.log_offset += elements * request.element_bytes;  // below 2^63: both are bounded
    if (entry.log_offset > max_log_offset) throw Error(NC_EIO, "a list's data reaches beyond any log");
  }
}

void TableScan::add_range(const LogView& log, const LogRange& range) {
  const auto owned = std::find_if(log.data.rbegin(), log.data.rend(),
                                  [&](const LogSegment& own) { return own.segment == range.segment; });
  std::vector<LogRange>& ranges = cursors_[range.writer].ranges;
  const bool ascends = ranges.empty() || range.log_offset >= ranges.back().log_offset;
  if (owned == log.data.rend() || !lies_within(range, owned->bytes) || !ascends) {
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
