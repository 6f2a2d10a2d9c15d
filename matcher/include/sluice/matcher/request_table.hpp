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

/// The request table of one process in one step lives in shared memory: chunks of 8-byte words, each chunk a
/// segment (or a part of one). Word 0 of a chunk is the number of bytes used behind it (atomic, release by
/// the writer, acquire by the matcher); then entries, none of which crosses the end of a chunk. Normative
/// text: docs/formats/request-table.md.
///
///   request, fill:  word 0  kind (bits 0-7), has_stride (bit 8), one_element (bit 9),
///                           number of dimensions (bits 16-31), varid (bits 32-63)
///                   word 1  sequence: CLOCK_MONOTONIC in ns when the put was made (of a collective put: by
///                   the first
///                           process); later ones win, of equal ones those appended later
///                   word 2  log offset in bytes of the first element (0 for fill)
///                   then    start[n]; count[n] unless one_element (all are 1); stride[n] if has_stride
///   list:           word 0  as of a request, without a variable; word 1 number of boxes; then start[n],
///                           count[n], stride[n] of each box as above
///   list_request:   word 0  kind, dimensions, varid; word 1 sequence; word 2 log offset of the first
///   element;
///                   word 3  bytes of an element; word 4 which of the lists before it in this table, from 0:
///                           a request for each box, with data one behind the other
///   segment:        word 0  kind; word 1 first log offset; word 2 length in bytes; word 3 segment id;
///                   word 4  offset in that segment
///
/// A `segment` entry says where log offsets [first, first + length) are; a later one (their `first` only
/// grows) takes over from its own first offset on, where the one before had room left that the next request
/// did not fit into. The data of one request never crosses two segments.
enum class EntryKind : std::uint8_t { request = 1, fill = 2, segment = 3, list = 4, list_request = 5 };

/// Whether entries of that kind have a box of their own.
[[nodiscard]] constexpr bool has_box(EntryKind kind) noexcept {
  return kind == EntryKind::request || kind == EntryKind::fill;
}

/// A place in a process's request table: the first `chunks` chunks, of the last of them `bytes` bytes behind
/// word 0. The default is behind all that there is and will be.
struct TablePosition {
  std::uint64_t chunks = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t lists = 0;  ///< that are before it; only who begins to read there needs to know
  bool operator==(const TablePosition&) const = default;
};

/// A decoded entry. The spans of one that was read point into its TableReader and hold until its next call of
/// next().
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

/// Appends entries to one chunk. Does not own the memory. Single writer; any number of readers in other
/// processes.
class TableWriter {
 public:
  /// `chunk`: 8-byte aligned memory of at least 8 bytes; word 0 is set to 0.
  explicit TableWriter(std::span<std::byte> chunk) noexcept;
  TableWriter() = default;
  /// False when the entry does not fit: take a new chunk. Nothing is visible to readers before commit().
  [[nodiscard]] bool append(const TableEntry& entry) noexcept;
  /// Makes everything appended so far visible.
  void commit() noexcept;
  /// Bytes behind word 0 that entries take.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  /// Bytes that the entry takes.
  [[nodiscard]] static std::size_t entry_bytes(const TableEntry& entry) noexcept;

 private:
  std::span<std::byte> chunk_;
  std::size_t used_ = 0;  ///< bytes behind word 0
};

/// Reads the entries of one chunk that were committed when it was made, from `position` on (bytes behind word
/// 0; 0 is the first entry), as far as `end`. Throws Error(NC_EIO) for an entry that is not well formed: the
/// table is another process's memory, so every length is checked and every word is read once. The boxes it
/// gives are sound (box.hpp).
class TableReader {
 public:
  TableReader(std::span<const std::byte> chunk, std::size_t position,
              std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) noexcept;
  /// False at the end of what was committed.
  [[nodiscard]] bool next(TableEntry& entry);
  /// Bytes consumed so far: where the next reader starts.
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

/// The bytes of an entry as they are in a table; they are in `scratch`.
[[nodiscard]] std::span<const std::byte> encoded_entry(const TableEntry& entry,
                                                       std::vector<std::byte>& scratch);

}  // namespace sluice::matcher
