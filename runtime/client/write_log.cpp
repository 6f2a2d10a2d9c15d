#include "sluice/runtime/write_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

constexpr std::uint64_t smallest_segment = 1ULL << 12;       // the smallest segment that a matcher grants
constexpr std::uint64_t smallest_data_segment = 1ULL << 20;  // the first one, when nothing is known
constexpr std::uint64_t largest_data_segment = 1ULL
                                               << 26;  // unless more is expected, or a single put needs more
constexpr std::uint64_t largest_expected_segment = 1ULL << 28;
constexpr std::uint64_t least_room = 1ULL << 16;            // of a segment that is continued
constexpr std::uint64_t smallest_table_chunk = 1ULL << 16;  // the first one
constexpr std::uint64_t largest_table_chunk = 1ULL << 24;

/// The size of the next segment: the expected rest, if known.
std::uint64_t next_segment_bytes(std::uint64_t used, std::uint64_t expected,
                                 std::uint64_t otherwise) noexcept {
  if (expected > used) return std::clamp(expected - used, smallest_segment, largest_expected_segment);
  return otherwise;
}

}  // namespace

WriteLog::WriteLog(SegmentSource& source, std::uint64_t step, std::optional<LogSize> expected) noexcept
    : source_(source), step_(step), first_{smallest_data_segment, smallest_table_chunk} {
  expect(expected);
}

void WriteLog::limit_first_segments(LogSize whole) noexcept {
  first_ = {std::clamp(whole.data_bytes, smallest_segment, smallest_data_segment),
            std::clamp(whole.table_bytes, smallest_segment, smallest_table_chunk)};
}

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

std::vector<SegmentRequest> WriteLog::wanted_ahead() const {
  std::vector<SegmentRequest> wanted;
  const auto want = [&](SegmentUse use, std::uint64_t expected, bool has_any) {
    if (expected == 0 || has_any) return;
    const std::uint64_t bytes = next_segment_bytes(0, expected, 0);
    wanted.push_back({step_, use, bytes, bytes, {}, true});
  };
  const std::uint64_t table_bytes = is_size_known_ ? expected_.table_bytes : first_.table_bytes;
  want(SegmentUse::table, table_bytes, table_ahead_ || table_chunks_ > 0);
  want(SegmentUse::data, expected_.data_bytes, data_ahead_ || !ranges_.empty());
  return wanted;
}

void WriteLog::provide(SegmentUse use, WritableSegment segment) noexcept {
  (use == SegmentUse::table ? table_ahead_ : data_ahead_) = std::move(segment);
}

/// Uses provided segments first. Data that does not fit leaves the segment empty. A table chunk is used in
/// any case, because the matcher counts it.
WritableSegment WriteLog::take_segment(SegmentUse use, std::uint64_t bytes, std::uint64_t wanted_bytes) {
  auto ahead = std::exchange(use == SegmentUse::table ? table_ahead_ : data_ahead_, std::nullopt);
  if (ahead && (use == SegmentUse::table || ahead->memory.size() >= bytes)) return std::move(*ahead);
  return source_.need_segment({step_, use, bytes, wanted_bytes});
}

/// A log that continues from step to step has few segments, however little each step puts.
std::uint64_t WriteLog::wanted_bytes(std::uint64_t used, std::uint64_t expected,
                                     std::uint64_t otherwise) const noexcept {
  const std::uint64_t wanted = next_segment_bytes(used, expected, otherwise);
  return goes_on_ ? std::max(wanted, otherwise) : wanted;
}

/// The rest of the current segment, or a new one.
void WriteLog::take_room(std::uint64_t log_offset, std::uint64_t bytes) {
  if (log_offset + bytes > segment_end_) return take_data_segment(log_offset, bytes);
  const std::uint64_t more = std::clamp((log_offset - first_offset_) / 4, least_room, largest_data_segment);
  const std::uint64_t expected_end = first_offset_ + expected_.data_bytes;
  const std::uint64_t needed_end = log_offset + bytes;
  lengthen(needed_end, expected_end >= needed_end ? expected_end : needed_end + more);
}

void WriteLog::lengthen(std::uint64_t needed_end, std::uint64_t wanted_end) {
  const auto in_segment = [&](std::uint64_t offset) { return offset - data_first_ + data_shift_; };
  const std::uint64_t room = source_.need_room({in_segment(needed_end), in_segment(wanted_end)});
  data_end_ = data_first_ + std::min(std::max(room, data_shift_) - data_shift_, segment_end_ - data_first_);
}

void WriteLog::take_data_segment(std::uint64_t log_offset, std::uint64_t bytes) {
  // Offsets keep their alignment in memory: the segment's first log offset has the same remainder as its
  // address.
  const std::uint64_t shift = log_offset % large_alignment;
  // Up to 1 MiB as much as there is; then a quarter, because the unused rest is memory that others may wait
  // for.
  const std::uint64_t otherwise =
      next_offset_ < smallest_data_segment ? next_offset_ : std::max(next_offset_ / 4, smallest_data_segment);
  const std::uint64_t wanted = wanted_bytes(next_offset_, first_offset_ + expected_.data_bytes,
                                            std::clamp(otherwise, first_.data_bytes, largest_data_segment));
  WritableSegment segment = take_segment(SegmentUse::data, bytes + shift, wanted);
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
  if (!ranges_.empty()) {  // the unused end of the segment before
    LogRange& last = ranges_.back();
    last.length_bytes = std::min(last.length_bytes, log_offset - last.log_offset);
  }
  ranges_.push_back({0, log_offset, length, segment.id, shift});
  close();
  data_ = segment.memory.data() + shift;
  data_shift_ = shift;
  data_first_ = log_offset;
  data_end_ = segment_end_ = log_offset + length;
  data_mapping_ = std::move(segment.mapping);
  data_file_ = std::move(segment.file);
  data_file_offset_ = segment.file_offset;
}

void WriteLog::finish() noexcept {
  if (!ranges_.empty()) ranges_.back().length_bytes = next_offset_ - ranges_.back().log_offset;
  close();
  data_ahead_.reset();  // the matcher takes unused segments back
  table_ahead_.reset();
}

void WriteLog::go_on(std::uint64_t step) {
  step_ = step;
  goes_on_ = true;
  first_offset_ = next_offset_ = (next_offset_ + large_alignment - 1) & ~(large_alignment - 1);
  first_table_bytes_ =
      table_chunks_ == 0 ? 0 : full_tables_bytes_ + sizeof(std::uint64_t) + table_.used_bytes();
  if (!ranges_.empty()) {
    ranges_.back().length_bytes = segment_end_ - ranges_.back().log_offset;
    lengthen(data_first_, data_first_);
  }
  lists_.clear();  // a reader of this step's puts reads no earlier entries
}

void WriteLog::close() noexcept {
  // Data written through the file is not in this process's page table yet.
  if (data_mapping_ && !data_file_) data_mapping_->note_touched(next_offset_ - data_first_ + data_shift_);
  data_file_.reset();
}

bool WriteLog::store_large(const Reservation& reservation, const void* source, std::uint64_t bytes) {
  const std::uint64_t offset = offset_in_segment(reservation);
  if (!data_file_) {
    if (data_mapping_) data_mapping_->prefault(offset, bytes);
    return false;
  }
  const auto* const data = static_cast<const std::byte*>(source);
  const std::uint64_t place = data_file_offset_ + offset;
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t written =
        ::pwrite(data_file_->number(), data + done, bytes - done, static_cast<off_t>(place + done));
    if (written < 0 && errno == EINTR) continue;
    // then through memory; a wrong address is the caller's error in either case
    if (written <= 0) return false;
    done += static_cast<std::uint64_t>(written);
  }
  return true;
}

void WriteLog::take_table_chunk(std::uint64_t entry_bytes) {
  const std::uint64_t wanted =
      wanted_bytes(table_bytes_, first_table_bytes_ + expected_.table_bytes,
                   std::clamp(table_bytes_, first_.table_bytes, largest_table_chunk));
  WritableSegment segment = take_segment(SegmentUse::table, entry_bytes + sizeof(std::uint64_t), wanted);
  table_.commit();
  table_ = matcher::TableWriter(segment.memory);
  table_mapping_ = std::move(segment.mapping);
  full_tables_bytes_ = table_bytes_;
  table_bytes_ += segment.memory.size();
  ++table_chunks_;
}

void WriteLog::append(const matcher::TableEntry& entry) {
  if (table_.append(entry)) [[likely]]
    return;
  // A segment that was provided ahead, or granted for an earlier failed put, may be too small.
  constexpr int most_chunks = 4;
  for (int i = 0; i < most_chunks; ++i) {
    take_table_chunk(matcher::TableWriter::entry_bytes(entry));
    if (table_.append(entry)) return;
  }
  throw Error(NC_EIO, "the matcher gave a table segment that is too small");
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

void WriteLog::append_list(const List& list) {
  matcher::TableEntry entry;
  const auto known = lists_.find(list.identity);
  entry.list = known != lists_.end() ? known->second : list_count_;
  if (known == lists_.end()) {
    entry.kind = matcher::EntryKind::list;
    entry.boxes = list.boxes;
    append(entry);
    lists_.emplace(list.identity, list_count_++);
  }
  entry.kind = matcher::EntryKind::list_request;
  entry.varid = list.varid;
  entry.sequence = list.sequence;
  entry.log_offset = list.log_offset;
  entry.element_bytes = list.element_bytes;
  entry.dimensions = list.boxes[0].start.size();
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
