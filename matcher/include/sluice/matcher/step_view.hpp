#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_extent.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::matcher {

/// A segment of a log and how large it is.
struct LogSegment {
  SegmentId segment = 0;
  std::uint64_t bytes = 0;
};

/// The segments of one process's write log in one step, in the order in which they were granted. Their ids
/// say which matcher has them.
struct LogView {
  std::vector<LogSegment> tables;
  std::vector<LogSegment> data;
  std::vector<LogRange> ranges;  ///< where the data is, when it is published
  TablePosition published;       ///< readers see the requests before it
  bool is_complete = false;      ///< and so does everybody else: what is behind belongs to later steps
  bool is_cut = false;           ///< the same: its writer died
  LogExtent extent;              ///< when it is published
  /// Where what the step has added begins, where it continues the log of an earlier step: in the tables, and
  /// a log offset.
  TablePosition begin = {0, 0};
  std::uint64_t first_offset = 0;
};

/// What a matcher that answers gets needs to know of a step. The registry gives it out, anew when it has
/// changed.
struct StepView {
  std::uint64_t step = 0;
  std::uint64_t revision = 0;  ///< grows with every change
  bool is_final = false;       ///< published: there will be no other revision
  std::uint32_t rule = 0;
  std::string name;  ///< for messages
  std::uint64_t header_revision = 0;
  std::int64_t record_count = 0;
  std::vector<std::byte> header;    ///< CDF-5 encoding; empty before the first enddef
  std::uint64_t first_own_log = 0;  ///< before it: the logs of the step that was reopened
  std::vector<LogView> logs;
  StepPattern pattern;  ///< when it is published
  PublishAt publish_at = PublishAt::close;
  PartitionKind partition = PartitionKind::range;
  bool is_cut = false;    ///< final, but not all of its writers have closed it
  SegmentId control = 0;  ///< of the group that writes it; 0: none
  bool is_apart =
      false;  ///< final: its own logs have no record below the base, and earlier ones none from there on

  /// Where in each log begins what the step itself has put: of those of earlier steps, behind all.
  [[nodiscard]] std::vector<TablePosition> begins() const {
    std::vector<TablePosition> positions;
    for (std::size_t i = 0; i < logs.size(); ++i)
      positions.push_back(i < first_own_log ? logs[i].published : logs[i].begin);
    return positions;
  }
  /// The pattern, for what goes by log offsets as they are: none where they go on from step to step.
  [[nodiscard]] StepPattern pattern_of_offsets() const { return is_continued() ? StepPattern{} : pattern; }
  /// Whether own logs continue those of an earlier step.
  [[nodiscard]] bool is_continued() const noexcept {
    return std::ranges::any_of(logs, [](const LogView& log) { return log.first_offset != 0; });
  }

  /// Whether it is published, and told where all of its data is. Of a log whose writer died only its tables
  /// know.
  [[nodiscard]] bool is_told_whole() const noexcept {
    return is_final && std::ranges::none_of(logs, &LogView::is_cut);
  }
  /// The number of records that readers see, if `written` ends those in the request tables: where each put is
  /// visible at once, they know more than the registry.
  [[nodiscard]] std::int64_t records_of_readers(std::int64_t written) const noexcept {
    return are_counted_by_tables() ? std::max(record_count, written) : record_count;
  }
  [[nodiscard]] bool are_counted_by_tables() const noexcept {
    return publish_at == PublishAt::write && (!is_final || is_cut);
  }
};

}  // namespace sluice::matcher
