#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/matcher/table_scan.hpp"
#include "sluice/matcher/variable_indexes.hpp"

namespace sluice::matcher {

/// What is known of a step's writes: an index of write requests per variable, and where the logs' data is.
/// Fed from the request tables, which belong to other processes' memory: everything that they say is checked.
class StepIndex {
 public:
  /// `memory` holds the tables; it outlives the index.
  explicit StepIndex(SegmentMemory& memory);

  /// The variables, from the step's encoded header. Called again when that changes. Throws FormatError when
  /// it is damaged.
  void set_header(std::span<const std::byte> encoded);

  /// Reads what is new in the tables of `logs` (always the same ones, their lists of segments may have
  /// grown). `is_final`: they will not change any more, and are not looked at again. `reach`: the same in
  /// each call. Throws Error(NC_EIO) when a table is damaged, now and ever after.
  void update(std::span<const LogView> logs, bool is_final, Reach reach = Reach::published);

  /// In place of set_header() and update(): of a published step, only what is behind a position of each log
  /// (of those without one, all).
  void take_behind(const StepView& view, std::span<const TablePosition> positions);
  /// Whether a box of the variable lies where nothing else may be than what a step with that base has put.
  /// Throws as writes().
  [[nodiscard]] bool is_added(int varid, const formats::HyperslabView& box, std::int64_t base_record) const {
    return variables_.has_records(varid) && !box.start.empty() && box.start[0] >= base_record;
  }

  /// The write requests of variable `varid`; holds until the next change of the header. Throws Error(NC_EIO)
  /// when the header has no such variable.
  [[nodiscard]] VariableWrites writes(int varid) { return variables_.writes(varid); }

  [[nodiscard]] std::size_t element_bytes(int varid) const { return variables_.element_bytes(varid); }

  /// The end of the records that were written, as far as the tables were read.
  [[nodiscard]] std::int64_t records_end() const noexcept { return variables_.records_end(); }

  /// Where the data of a writer's log is, in ascending order.
  [[nodiscard]] std::span<const LogRange> ranges(std::uint32_t writer) const noexcept {
    return scan_.ranges(writer);
  }

 private:
  void read(std::uint32_t writer, const LogView& log, bool is_final, Reach reach);

  VariableIndexes variables_;
  TableScan scan_;
  bool is_final_ = false;
  std::string damage_;  ///< what was wrong with a table
};

}  // namespace sluice::matcher
