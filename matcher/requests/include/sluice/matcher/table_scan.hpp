#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sluice/formats/slab_list.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::matcher {

/// The boxes of a list that list requests of one writer name, as they were when they were read; or some of
/// the boxes.
struct ListedBoxes {
  /// Throws Error(NC_EIO) for too many elements.
  explicit ListedBoxes(std::span<const formats::HyperslabView> list);
  /// Some boxes of a list. `first_elements`: the number of the list's elements before each box. Throws as
  /// above.
  ListedBoxes(std::span<const formats::HyperslabView> some, std::vector<std::uint64_t> first_elements);

  formats::SlabList boxes;
  std::vector<std::uint64_t> first_elements;  ///< empty: the boxes follow one another
  std::uint64_t elements = 0;  ///< of all boxes; for some boxes: to the end of the last; at most 2^59
  std::int64_t first_dimension_end = 0;  ///< upper bound on the first dimension of boxes with elements
};

/// Calls `take` with a request for each non-empty box of a list request.
template <class Take>
void for_each_box(const TableEntry& request, const ListedBoxes& list, Take&& take) {
  TableEntry entry;
  entry.varid = request.varid;
  entry.sequence = request.sequence;
  entry.log_offset = request.log_offset;
  const auto boxes = list.boxes.views();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto elements = static_cast<std::uint64_t>(boxes[i].elements());
    if (elements == 0) continue;
    if (!list.first_elements.empty())
      entry.log_offset = request.log_offset + list.first_elements[i] * request.element_bytes;
    entry.box = boxes[i];
    take(entry);
    entry.log_offset += elements * request.element_bytes;
  }
}

/// The list that a list request names, among the lists before it. Throws Error(NC_EIO) when the list does not
/// exist, or does not fit the request.
[[nodiscard]] const std::shared_ptr<const ListedBoxes>& list_of(
    const TableEntry& request, std::span<const std::shared_ptr<const ListedBoxes>> lists);

/// The part of a log that is read. While a step is being written, its own writers see everything. For a
/// published step, `added` is the step's own puts in logs that continue those of earlier steps.
enum class Visibility : std::uint8_t { published, everything, added };

/// Reads the request tables of a step's logs, each entry once: a call reads the entries committed since the
/// last call. Other processes own the tables, so every word is checked.
class TableScan {
 public:
  /// Receives a request or a fill, or a request for each box of a list. `bytes`: the entry as it is, or would
  /// be, in the table. Readers of `bytes` must check them again, because the writer may have changed them
  /// since.
  using Sink = std::function<void(const TableEntry& entry, std::span<const std::byte> bytes)>;
  /// Receives a list request with its list. All requests of the table that name the list get the same object,
  /// and may keep it.
  using ListSink =
      std::function<void(const TableEntry& entry, const std::shared_ptr<const ListedBoxes>& list)>;
  /// The receivers of the entries. Without `take_list`, `take` is called for each box of a list request.
  struct Sinks {
    Sink take;
    ListSink take_list;
  };

  /// `memory` holds the tables and must outlive the scan.
  explicit TableScan(SegmentMemory& memory) noexcept : memory_(memory) {}

  /// Reads new entries in the tables of `log`, whose lists may have grown since the last call. `writer`: the
  /// log's index within the step. Throws Error(NC_EIO) when a table is damaged. Also throws the errors of a
  /// sink. After an error the scan is unusable.
  void read(std::uint32_t writer, const LogView& log, const Sinks& sinks,
            Visibility reach = Visibility::published);
  void read(std::uint32_t writer, const LogView& log, const Sink& sink,
            Visibility reach = Visibility::published) {
    read(writer, log, Sinks{sink, {}}, reach);
  }

  /// Tables may name memory that was granted after the view was made. This is no damage: the scan stops
  /// there, and continues with a newer view.
  void expect_newer_memory(bool does) noexcept { expects_newer_memory_ = does; }

  /// All entries count as new again.
  void restart() noexcept { cursors_.clear(); }

  /// Begins reading the log at a later position. Call it before read(). `ranges`: the positions of all of the
  /// log's data.
  void begin_at(std::uint32_t writer, const TablePosition& begin, std::span<const LogRange> ranges);

  /// The positions of the data of a writer's log, in ascending order, as far as the tables were read.
  [[nodiscard]] std::span<const LogRange> ranges(std::uint32_t writer) const noexcept;

 private:
  struct Cursor {
    std::vector<std::shared_ptr<const ListedBoxes>> lists;
    std::uint64_t first_list = 0;  ///< number of the first list
    std::size_t chunk = 0;
    std::size_t position = 0;
    std::vector<LogRange> ranges;
    bool has_all_ranges = false;  ///< the tables' segment entries are known already
  };

  /// Returns false when it stops before an entry.
  bool read_chunk(std::uint32_t writer, const LogView& log, std::uint64_t end, const Sinks& sinks);
  void add_range(const LogView& log, const LogRange& range);
  void take_list_request(const Cursor& cursor, TableEntry request, const Sinks& sinks);

  SegmentMemory& memory_;
  std::map<std::uint32_t, Cursor> cursors_;  ///< by writer
  std::vector<std::byte> scratch_;
  bool expects_newer_memory_ = false;
};

}  // namespace sluice::matcher
