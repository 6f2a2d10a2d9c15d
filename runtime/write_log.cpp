#include "sluice/runtime/write_log.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

constexpr std::uint64_t smallest_data_segment = 1ULL << 20;
constexpr std::uint64_t largest_data_segment = 1ULL << 26;  // unless a single put needs more
constexpr std::uint64_t smallest_table_chunk = 1ULL << 16;
constexpr std::uint64_t largest_table_chunk = 1ULL << 24;

/// What to ask for next: what is still to come as far as is known, else as much again as there is already.
std::uint64_t next_segment_bytes(std::uint64_t used, std::uint64_t expected, std::uint64_t smallest,
                                 std::uint64_t largest) noexcept {
  const std::uint64_t wanted = expected > used ? expected - used : used;
  // Matchers grant powers of two: rather a second, smaller segment than one that stays half empty.
  const std::uint64_t rounded = std::bit_floor(wanted + wanted / 8);
  return std::clamp(rounded, smallest, largest);
}

}  // namespace

WriteLog::WriteLog(SegmentSource& source, std::uint64_t step, LogSize expected) noexcept
    : source_(source), step_(step), expected_(expected) {}

std::uint64_t WriteLog::next_sequence() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto nanoseconds =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
  last_sequence_ = std::max(nanoseconds, last_sequence_ + 1);
  return last_sequence_;
}

void WriteLog::raise_sequence(std::uint64_t sequence) noexcept {
  last_sequence_ = std::max(last_sequence_, sequence);
}

WritableSegment WriteLog::need_segment(SegmentUse use, std::uint64_t wanted, std::uint64_t needed) {
  if (wanted > needed) {
    try {
      return source_.need_segment({step_, use, wanted});
    } catch (const Error& error) {
      if (error.status() != NC_ENO_SPACE) throw;
      // What this put needs may fit all the same.
    }
  }
  return source_.need_segment({step_, use, needed});
}

void WriteLog::take_data_segment(std::uint64_t log_offset, std::uint64_t bytes) {
  // Offsets keep their alignment in memory: the segment begins where its first log offset has the same
  // remainder.
  const std::uint64_t shift = log_offset % large_alignment;
  const std::uint64_t wanted =
      next_segment_bytes(next_offset_, expected_.data_bytes, smallest_data_segment, largest_data_segment);
  WritableSegment segment = need_segment(SegmentUse::data, wanted, bytes + shift);
  const std::uint64_t length = segment.memory.size() - shift;
  if (segment.memory.size() < bytes + shift)
    throw Error(NC_EIO, "the matcher gave a segment that is too small");
  matcher::TableEntry entry;
  entry.kind = matcher::EntryKind::segment;
  entry.log_offset = log_offset;
  entry.length_bytes = length;
  entry.segment_id = segment.id;
  entry.segment_offset = shift;
  append(entry);
  data_ = segment.memory.data() + shift;
  data_first_ = log_offset;
  data_end_ = log_offset + length;
  data_owner_ = std::move(segment.owner);
}

void WriteLog::take_table_chunk(std::uint64_t entry_bytes) {
  const std::uint64_t wanted =
      next_segment_bytes(table_bytes_, expected_.table_bytes, smallest_table_chunk, largest_table_chunk);
  WritableSegment segment = need_segment(SegmentUse::table, wanted, entry_bytes + sizeof(std::uint64_t));
  table_.commit();
  table_ = matcher::TableWriter(segment.memory);
  table_owner_ = std::move(segment.owner);
  table_bytes_ += segment.memory.size();
}

void WriteLog::append(const matcher::TableEntry& entry) {
  if (table_.append(entry)) [[likely]]
    return;
  const bool has_stride = !entry.box.stride.empty();
  take_table_chunk(matcher::TableWriter::entry_bytes(entry.kind, entry.box.dimensions(), has_stride));
  if (!table_.append(entry)) throw Error(NC_EIO, "the matcher gave a table segment that is too small");
}

void WriteLog::append_request(int varid, std::uint64_t sequence, std::uint64_t log_offset,
                              const formats::HyperslabView& box) {
  matcher::TableEntry entry;
  entry.kind = matcher::EntryKind::request;
  entry.varid = varid;
  entry.sequence = sequence;
  entry.log_offset = log_offset;
  entry.box = box;
  append(entry);
}

void WriteLog::append_fill(int varid, std::uint64_t sequence, const formats::HyperslabView& box) {
  matcher::TableEntry entry;
  entry.kind = matcher::EntryKind::fill;
  entry.varid = varid;
  entry.sequence = sequence;
  entry.box = box;
  append(entry);
}

}  // namespace sluice::runtime
