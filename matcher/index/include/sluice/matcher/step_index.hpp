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

/// The writes of a step as one matcher knows them: an index of write requests for each variable, and the
/// positions of the logs' data. The input is the request tables. Other processes own their memory, so every
/// word of a table is checked.
class StepIndex {
 public:
  /// `memory` holds the tables and must outlive the index.
  explicit StepIndex(SegmentMemory& memory);

  /// Sets the variables from the step's encoded header. Call it again when the header changes. Throws
  /// FormatError when the header is damaged.
  void set_header(std::span<const std::byte> encoded);

  /// Reads new entries in the tables of `logs`. Each call passes the same logs; their lists of segments may
  /// have grown. `is_final`: the tables will not change any more, and are not read again. `reach` is the same
  /// As TableScan: the logs of update() may be older than the tables.
  void expect_newer_memory() noexcept { scan_.expect_newer_memory(true); }
  /// in each call. Throws Error(NC_EIO) when a table is damaged, also in every later call.
  void update(std::span<const LogView> logs, bool is_final, Visibility reach = Visibility::published);

  /// Replaces set_header() and update() for a published step: reads only the entries behind a position in
  /// each log. A log without a position is read whole.
  void take_behind(const StepView& view, std::span<const TablePosition> positions);
  /// Whether only this step can have put data where the box of the variable lies. `base_record`: the number
  /// of records when the step began. Throws as writes().
  [[nodiscard]] bool is_added(int varid, const formats::HyperslabView& box, std::int64_t base_record) const {
    return variables_.has_records(varid) && !box.start.empty() && box.start[0] >= base_record;
  }

  /// The write requests of variable `varid`. The result is valid until the header changes. Throws
  /// Error(NC_EIO) when the header has no such variable.
  [[nodiscard]] VariableWrites writes(int varid) { return variables_.writes(varid); }

  [[nodiscard]] std::size_t element_bytes(int varid) const { return variables_.element_bytes(varid); }

  /// The end of the written records in the tables read so far.
  [[nodiscard]] std::int64_t records_end() const noexcept { return variables_.records_end(); }

  /// The positions of the data of a writer's log, in ascending order.
  [[nodiscard]] std::span<const LogRange> ranges(std::uint32_t writer) const noexcept {
    return scan_.ranges(writer);
  }

 private:
  void read(std::uint32_t writer, const LogView& log, bool is_final, Visibility reach);

  VariableIndexes variables_;
  TableScan scan_;
  bool is_final_ = false;
  std::string damage_;  ///< the first fault found in a table
};

}  // namespace sluice::matcher
