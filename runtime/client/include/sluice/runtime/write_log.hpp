#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sluice/formats/copy_bytes.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// A granted segment, mapped for writing.
struct WritableSegment {
  std::uint64_t id = 0;
  std::span<std::byte> memory;
  std::shared_ptr<const Mapping>
      mapping;  ///< the mapping with `memory`, shared with the cache of segments; null: permanent memory
  std::shared_ptr<const FileDescriptor>
      file;                       ///< for a segment that was not mapped before; shared with the cache
  std::uint64_t file_offset = 0;  ///< where the segment begins in that file
};

/// The source of segments: the session, or a test.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  /// Returns at least `request.bytes` bytes. Throws Error(NC_ENO_SPACE, NC_EIO).
  [[nodiscard]] virtual WritableSegment need_segment(const SegmentRequest& request) = 0;

  /// A part of the last data segment, from its begin, in bytes.
  struct Room {
    std::uint64_t needed_bytes = 0;
    std::uint64_t wanted_bytes = 0;  ///< at least needed_bytes
  };
  /// For a log that continues in its last data segment: returns how many bytes of the segment may be written.
  /// A source on disk gives unused space back after each step, and reserves it anew here. Throws as
  /// need_segment().
  [[nodiscard]] virtual std::uint64_t need_room(const Room& /*room*/) {
    return std::numeric_limits<std::uint64_t>::max();
  }
};

/// Bytes of log data and of request table.
struct LogSize {
  std::uint64_t data_bytes = 0;
  std::uint64_t table_bytes = 0;
};

/// The write log of this process in one step: request data in data segments, and entries in table chunks.
/// Both are shared memory. A put calls reserve(), converts into the reserved memory (or calls store()), calls
/// append_request() for each hyperslab, and then commit(). It sends no message and allocates nothing, unless
/// a segment is full. One thread at a time.
class WriteLog {
 public:
  /// `expected`: sizes for the first segments; empty when unknown. The source must outlive the log.
  WriteLog(SegmentSource& source, std::uint64_t step, std::optional<LogSize> expected) noexcept;
  void expect(std::optional<LogSize> size) noexcept {
    is_size_known_ = size.has_value();
    expected_ = size.value_or(LogSize{});
  }
  /// The sizes of all that the file's variables hold, with one record: where no size is expected, first
  /// segments are no larger.
  void limit_first_segments(LogSize whole) noexcept;
  /// The segments that the log needs first, to be requested before the first put. Includes a table unless
  /// nothing will be put, and data when the amount is known. Empty once the log has any segment.
  [[nodiscard]] std::vector<SegmentRequest> wanted_ahead() const;
  /// Adds one of these segments.
  void provide(SegmentUse use, WritableSegment segment) noexcept;

  /// Memory for the data of one put.
  struct Reservation {
    std::byte* data = nullptr;
    std::uint64_t log_offset = 0;
    std::uint64_t bytes = 0;
  };
  /// Log offsets are a running sum of sizes, aligned to 8 bytes, and to 64 for sizes from 4 KiB up. Throws as
  /// the source does; the log is then unchanged.
  [[nodiscard]] Reservation reserve(std::uint64_t bytes) {
    const std::uint64_t offset = aligned_offset(bytes);
    if (offset + bytes > data_end_) [[unlikely]]
      take_room(offset, bytes);
    next_offset_ = offset + bytes;
    return {data_ + (offset - data_first_), offset, bytes};
  }

  /// Copies data into the memory from reserve(). Memory that this process has not touched yet is written
  /// through its file: the kernel then takes whole pages from the source, instead of clearing each page at a
  /// page fault.
  void store(const Reservation& reservation, const void* source, std::uint64_t bytes) {
    if (bytes >= prepared_bytes) {
      if (store_large(reservation, source, bytes)) return;
      if (is_step_large())
        return formats::copy_piece(reservation.data, source, bytes,
                                   static_cast<const std::byte*>(source) + bytes);
    }
    formats::copy_bytes(reservation.data, source, bytes);
  }
  /// Keeps the memory of the last reservation mapped.
  [[nodiscard]] const std::shared_ptr<const Mapping>& mapping() const noexcept { return data_mapping_; }
  /// Call this before filling a large reserved range in another way.
  void prepare(const Reservation& reservation, std::uint64_t bytes) const noexcept {
    if (bytes >= prepared_bytes && data_mapping_)
      data_mapping_->prefault(offset_in_segment(reservation), bytes);
  }

  /// The offset of the last reserved memory in the last granted segment.
  [[nodiscard]] std::uint64_t offset_in_segment(const Reservation& reservation) const noexcept {
    return reservation.log_offset - data_first_ + data_shift_;
  }

  /// The time for the entries of one put: CLOCK_MONOTONIC in ns, later than all times before.
  [[nodiscard]] std::uint64_t next_sequence() noexcept;
  [[nodiscard]] std::uint64_t last_sequence() const noexcept { return last_sequence_; }
  /// Later sequences will be greater than `sequence`.
  void raise_sequence(std::uint64_t sequence) noexcept;

  /// Appends an entry. Readers see nothing before commit().
  void append_request(int varid, std::uint64_t sequence, std::uint64_t log_offset,
                      const formats::HyperslabView& box);
  /// The requests of an access with many boxes of at least one dimension; boxes may be empty. The boxes' data
  /// is stored without gaps. A list that this step already has takes no space again.
  struct List {
    int varid = -1;
    std::uint64_t sequence = 0;
    std::uint64_t log_offset = 0;  ///< of the first box
    std::uint64_t element_bytes = 0;
    std::span<const formats::HyperslabView> boxes;
    matcher::Fingerprint identity;  ///< equal for equal boxes
  };
  void append_list(const List& list);
  /// The box reads as the variable's fill value.
  void append_fill(int varid, std::uint64_t sequence, const formats::HyperslabView& box);
  void commit() noexcept { table_.commit(); }
  /// No more puts follow: ranges() ends with the data.
  void finish() noexcept;

  /// The end of the request table.
  [[nodiscard]] matcher::TablePosition position() const noexcept {
    return {table_chunks_, table_.used_bytes(), list_count_};
  }
  [[nodiscard]] LogSize size() const noexcept {
    const std::uint64_t table_bytes = table_chunks_ == 0 ? 0 : sizeof(std::uint64_t) + table_.used_bytes();
    return {next_offset_ - first_offset_, full_tables_bytes_ + table_bytes - first_table_bytes_};
  }
  /// Call this after finish(): the log continues in another step, which continues the finished one. Later
  /// puts are published with the new step.
  void go_on(std::uint64_t step);
  /// The log offset where the data of this step begins.
  [[nodiscard]] std::uint64_t first_offset() const noexcept { return first_offset_; }
  /// The positions of the data; without the writer's number.
  [[nodiscard]] const matcher::LogRanges& ranges() const noexcept { return ranges_; }

 private:
  /// The step's data will leave the caches before it is read.
  [[nodiscard]] bool is_step_large() const noexcept {
    const std::uint64_t expected = is_size_known_ ? expected_.data_bytes : 0;
    return std::max(expected, next_offset_ - first_offset_) >= formats::uncached_bytes;
  }
  [[nodiscard]] std::uint64_t aligned_offset(std::uint64_t bytes) const noexcept {
    const std::uint64_t alignment = bytes >= large_bytes ? large_alignment : small_alignment;
    return (next_offset_ + alignment - 1) & ~(alignment - 1);
  }
  void close() noexcept;
  [[nodiscard]] WritableSegment take_segment(SegmentUse use, std::uint64_t bytes, std::uint64_t wanted_bytes);
  [[nodiscard]] std::uint64_t wanted_bytes(std::uint64_t used, std::uint64_t expected,
                                           std::uint64_t otherwise) const noexcept;
  void take_room(std::uint64_t log_offset, std::uint64_t bytes);
  void take_data_segment(std::uint64_t log_offset, std::uint64_t bytes);
  void lengthen(std::uint64_t needed_end, std::uint64_t wanted_end);
  void take_table_chunk(std::uint64_t entry_bytes);
  void append(const matcher::TableEntry& entry);
  [[nodiscard]] bool store_large(const Reservation& reservation, const void* source, std::uint64_t bytes);

  static constexpr std::uint64_t small_alignment = 8;
  static constexpr std::uint64_t large_alignment = 64;
  static constexpr std::uint64_t large_bytes = 4096;
  static constexpr std::uint64_t prepared_bytes = 16U << 10;

  SegmentSource& source_;
  std::uint64_t step_;
  LogSize expected_;
  bool is_size_known_ = false;
  LogSize first_;  ///< of the first segments, if no size is expected
  std::optional<WritableSegment> data_ahead_;
  std::optional<WritableSegment> table_ahead_;
  std::uint64_t next_offset_ = 0;
  std::uint64_t first_offset_ = 0;  ///< where this step's data begins
  bool goes_on_ = false;            ///< the log spans several steps

  std::byte* data_ = nullptr;     ///< memory at log offset data_first_
  std::uint64_t data_first_ = 0;  ///< log offsets [data_first_, data_end_) are in the current segment
  std::uint64_t data_end_ = 0;
  std::uint64_t segment_end_ = 0;  ///< the source may lengthen [data_first_, data_end_) up to here
  std::uint64_t data_shift_ = 0;   ///< the position of data_first_ in the segment
  std::shared_ptr<const Mapping> data_mapping_;
  std::shared_ptr<const FileDescriptor> data_file_;  ///< shared with the cache of segments
  std::uint64_t data_file_offset_ = 0;               ///< where the segment begins in that file
  matcher::LogRanges ranges_;

  matcher::TableWriter table_;
  std::shared_ptr<const Mapping> table_mapping_;
  std::uint64_t table_bytes_ = 0;        ///< of all chunks
  std::uint64_t full_tables_bytes_ = 0;  ///< of all chunks before the last
  std::uint64_t first_table_bytes_ = 0;  ///< bytes that earlier steps have put there
  std::uint64_t table_chunks_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::unordered_map<matcher::Fingerprint, std::uint64_t, matcher::FingerprintHash>
      lists_;                     ///< their numbers
  std::uint64_t list_count_ = 0;  ///< including lists of earlier steps
};

}  // namespace sluice::runtime
