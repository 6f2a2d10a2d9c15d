#pragma once
#include <atomic>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// The request table of one process in one step is in shared memory. It has chunks of 8-byte words; each
/// chunk is a segment or a part of one. Word 0 of a chunk is the number of bytes used behind it (atomic,
/// release by the writer, acquire by the matcher). Then come entries; no entry crosses the end of a chunk.
/// Normative text: docs/formats/request-table.md.
///
///   request, fill:  word 0  kind (bits 0-7), has_stride (bit 8), one_element (bit 9),
///                           number of dimensions (bits 16-31), varid (bits 32-63)
///                   word 1  sequence: CLOCK_MONOTONIC in ns of the put
///                           (of a collective put: time of the first process);
///                           later ones win, of equal ones the ones appended later
///                   word 2  log offset in bytes of the first element (0 for fill)
///                   then    start[n]; count[n] unless one_element (all are 1); stride[n] if has_stride
///   list:           word 0  as of a request, without a variable; word 1 number of boxes; then start[n],
///                           count[n], stride[n] of each box as above
///   list_request:   word 0  kind, dimensions, varid
///                   word 1  sequence
///                   word 2  log offset of the first element
///                   word 3  bytes of an element
///                   word 4  number of a list before it in this table, from 0:
///                           a request for each box; the data of the boxes is contiguous
///   segment:        word 0  kind; word 1 first log offset; word 2 length in bytes; word 3 segment id;
///                   word 4  offset in that segment
///
/// A `segment` entry gives the position of log offsets [first, first + length). The `first` of later
/// `segment` entries never decreases. A later entry replaces the earlier one from its own `first` on: the
/// earlier segment then has an unused end that was too small for the next request. The data of one request
/// never crosses two segments.
enum class EntryKind : std::uint8_t { request = 1, fill = 2, segment = 3, list = 4, list_request = 5 };

/// Whether entries of this kind have a box of their own.
[[nodiscard]] constexpr bool has_box(EntryKind kind) noexcept {
  return kind == EntryKind::request || kind == EntryKind::fill;
}

/// A position in a process's request table: in the last of the first `chunks` chunks, `bytes` bytes behind
/// word 0. The default is behind all present and future entries.
struct TablePosition {
  std::uint64_t chunks = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t lists = 0;  ///< the lists before the position; needed only to begin reading there
  bool operator==(const TablePosition&) const = default;
};

/// A decoded entry. The spans of a decoded entry point into its TableReader. They are valid until the next
/// call of next().
struct TableEntry {
  EntryKind kind = EntryKind::request;
  int varid = -1;
  std::uint64_t sequence = 0;
  std::uint64_t log_offset = 0;
  formats::HyperslabView box;  ///< request, fill
  // list: boxes of the same number of dimensions, at least one, at least one dimension
  std::span<const formats::HyperslabView> boxes;
  // list_request:
  std::uint64_t element_bytes = 0;
  std::uint64_t list = 0;
  std::size_t dimensions = 0;
  // segment:
  std::uint64_t length_bytes = 0;
  std::uint64_t segment_id = 0;
  std::uint64_t segment_offset = 0;
};

/// Appends entries to one chunk. Does not own the memory. There is one writer and any number of readers in
/// other processes.
class TableWriter {
 public:
  /// `chunk`: 8-byte aligned memory of at least 8 bytes. The constructor sets word 0 to 0.
  explicit TableWriter(std::span<std::byte> chunk) noexcept;
  TableWriter() = default;
  /// Returns false when the entry does not fit: the caller takes a new chunk. Readers see nothing before
  /// commit().
  [[nodiscard]] bool append(const TableEntry& entry) noexcept;
  /// Makes all appended entries visible.
  void commit() noexcept;
  /// Bytes of entries behind word 0.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  /// Size of the entry in bytes.
  [[nodiscard]] static std::size_t entry_bytes(const TableEntry& entry) noexcept;

 private:
  std::span<std::byte> chunk_;
  std::size_t used_ = 0;  ///< bytes behind word 0
};

/// Reads the entries of one chunk that are committed when the reader is made: from `position` to `end`, in
/// bytes behind word 0 (0 is the first entry). Throws Error(NC_EIO) for a malformed entry. Another process
/// owns the table, so the reader checks every length and reads every word once. The returned boxes are sound
/// (box.hpp).
class TableReader {
 public:
  TableReader(std::span<const std::byte> chunk, std::size_t position,
              std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) noexcept;
  /// Returns false at the end of the committed entries.
  [[nodiscard]] bool next(TableEntry& entry);
  /// Bytes consumed so far: the position for the next reader.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  std::uint64_t take() noexcept;
  std::span<const std::int64_t> take_numbers(std::size_t n, std::size_t slot) noexcept;
  void read_box(std::uint64_t head, TableEntry& entry);
  void read_list(std::uint64_t head, TableEntry& entry);
  void read_list_request(std::uint64_t head, TableEntry& entry);
  void read_segment(TableEntry& entry);

  std::span<const std::byte> chunk_;
  std::size_t position_ = 0;
  std::size_t committed_ = 0;
  boost::container::small_vector<std::int64_t, 12> numbers_;  ///< start, count and stride of the last entry
  std::vector<formats::HyperslabView> boxes_;                 ///< of the last list
};

/// The bytes of an entry as in a table. They are stored in `scratch`.
[[nodiscard]] std::span<const std::byte> encoded_entry(const TableEntry& entry,
                                                       std::vector<std::byte>& scratch);

}  // namespace sluice::matcher
