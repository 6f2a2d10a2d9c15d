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

/// Boxes that list requests of one writer name, as they were when they were read; or some of them.
struct ListedBoxes {
  /// Throws Error(NC_EIO) for too many elements.
  explicit ListedBoxes(std::span<const formats::HyperslabView> list);
  /// Some boxes of a list; `first_elements`: how many elements of it come before each. Throws as above.
  ListedBoxes(std::span<const formats::HyperslabView> some, std::vector<std::uint64_t> first_elements);

  formats::SlabList boxes;
  std::vector<std::uint64_t> first_elements;  ///< none: the boxes are one behind the other
  std::uint64_t elements = 0;                 ///< of all boxes; of some: to the end of the last; at most 2^59
  std::int64_t first_dimension_end = 0;       ///< no box with elements reaches beyond
};

/// Calls `take` with a request for each box with elements of a list request.
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

/// The list that a list request names, of those that came before it. Throws Error(NC_EIO) when there is none,
/// or it does not fit the request.
[[nodiscard]] const std::shared_ptr<const ListedBoxes>& list_of(
    const TableEntry& request, std::span<const std::shared_ptr<const ListedBoxes>> lists);

/// How much of a log is read: while its step is being written, its own writers see everything; of a published
/// step, `added` is what it has put itself in logs that continue those of earlier steps.
enum class Reach : std::uint8_t { published, everything, added };

/// Reads the request tables of a step's logs, each entry once: what was committed since it was called last.
/// The tables are other processes' memory: everything that they say is checked.
class TableScan {
 public:
  /// An entry that is a request or a fill, also for each box of a list; `bytes`: as it is, or would be, in
  /// the table (to be checked again by who reads them: the writer may have changed them since).
  using Sink = std::function<void(const TableEntry& entry, std::span<const std::byte> bytes)>;
  /// A list request, with its list (the same object for all requests of the table that name it, shared with
  /// whoever keeps it).
  using ListSink =
      std::function<void(const TableEntry& entry, const std::shared_ptr<const ListedBoxes>& list)>;
  /// Where the entries go. Without `take_list`, `take` is called for each box of a list request.
  struct Sinks {
    Sink take;
    ListSink take_list;
  };

  /// `memory` holds the tables; it outlives the scan.
  explicit TableScan(SegmentMemory& memory) noexcept : memory_(memory) {}

  /// Reads what is new in the tables of `log`, whose lists may have grown since the last call. `writer`: its
  /// index within the step. Throws Error(NC_EIO) when a table is damaged, and what a sink throws; then
  /// nothing else may be asked of it.
  void read(std::uint32_t writer, const LogView& log, const Sinks& sinks, Reach reach = Reach::published);
  void read(std::uint32_t writer, const LogView& log, const Sink& sink, Reach reach = Reach::published) {
    read(writer, log, Sinks{sink, {}}, reach);
  }

  /// Tables may name memory that was granted after the view was made: what they say from there on is read the
  /// next time, with a newer view, and is no damage. It came after that view, and so after whoever asked for
  /// it.
  void expect_newer_memory(bool does) noexcept { expects_newer_memory_ = does; }

  /// All entries are new again.
  void restart() noexcept { cursors_.clear(); }

  /// The log is read from there on; not after read(). `ranges`: where all of its data is.
  void begin_at(std::uint32_t writer, const TablePosition& begin, std::span<const LogRange> ranges);

  /// Where the data of a writer's log is, in ascending order; as far as the tables were read.
  [[nodiscard]] std::span<const LogRange> ranges(std::uint32_t writer) const noexcept;

 private:
  struct Cursor {
    std::vector<std::shared_ptr<const ListedBoxes>> lists;
    std::uint64_t first_list = 0;  ///< their numbers begin there
    std::size_t chunk = 0;
    std::size_t position = 0;
    std::vector<LogRange> ranges;
    bool has_all_ranges = false;  ///< what the tables say of them is known
  };

  /// False where it stops ahead of an entry.
  bool read_chunk(std::uint32_t writer, const LogView& log, std::uint64_t end, const Sinks& sinks);
  void add_range(const LogView& log, const LogRange& range);
  void take_list_request(const Cursor& cursor, TableEntry request, const Sinks& sinks);

  SegmentMemory& memory_;
  std::map<std::uint32_t, Cursor> cursors_;  ///< by writer
  std::vector<std::byte> scratch_;
  bool expects_newer_memory_ = false;
};

}  // namespace sluice::matcher
