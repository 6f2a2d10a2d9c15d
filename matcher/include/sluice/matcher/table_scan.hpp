#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::matcher {

/// How much of a log whose step is being written is read: its own writers see everything.
enum class Reach : std::uint8_t { published, everything };

/// Reads the request tables of a step's logs, each entry once: what was committed since it was called last.
/// The tables are other processes' memory: everything that they say is checked.
class TableScan {
 public:
  /// An entry that is a request or a fill, also for each box of a list; `bytes`: as it is, or would be, in
  /// the table (to be checked again by who reads them: the writer may have changed them since).
  using Sink = std::function<void(const TableEntry& entry, std::span<const std::byte> bytes)>;

  /// `memory` holds the tables; it outlives the scan.
  explicit TableScan(SegmentMemory& memory) noexcept : memory_(memory) {}

  /// Reads what is new in the tables of `log`, whose lists may have grown since the last call. `writer`: its
  /// index within the step. Throws Error(NC_EIO) when a table is damaged, and what `sink` throws; then
  /// nothing else may be asked of it.
  void read(std::uint32_t writer, const LogView& log, const Sink& sink, Reach reach = Reach::published);

  /// All entries are new again.
  void restart() noexcept { cursors_.clear(); }

  /// Where the data of a writer's log is, in ascending order; as far as the tables were read.
  [[nodiscard]] std::span<const LogRange> ranges(std::uint32_t writer) const noexcept;

 private:
  /// Boxes that list requests name.
  struct List {
    std::vector<std::int64_t> numbers;
    std::vector<formats::HyperslabView> boxes;
  };
  struct Cursor {
    std::vector<List> lists;
    std::size_t chunk = 0;
    std::size_t position = 0;
    std::vector<LogRange> ranges;
  };

  void read_chunk(std::uint32_t writer, const LogView& log, std::uint64_t end, const Sink& sink);
  void add_range(const LogView& log, const LogRange& range);
  [[nodiscard]] static List copy_of(std::span<const formats::HyperslabView> boxes);
  void expand(const Cursor& cursor, const TableEntry& request, const Sink& sink);

  SegmentMemory& memory_;
  std::map<std::uint32_t, Cursor> cursors_;  ///< by writer
  std::vector<std::byte> scratch_;
};

}  // namespace sluice::matcher
