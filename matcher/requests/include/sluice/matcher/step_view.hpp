#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_extent.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::matcher {

/// A segment of a log, with its size.
struct LogSegment {
  SegmentId segment = 0;
  std::uint64_t bytes = 0;
};

/// The segments of one process's write log in one step, in the order of their grants. Their ids name the
/// matchers that own them.
struct LogView {
  /// Most logs have one of either kind.
  using Segments = boost::container::small_vector<LogSegment, 1>;
  Segments tables;
  Segments data;
  LogRanges ranges;         ///< the positions of the data, when the log is published
  TablePosition published;  ///< readers see the requests before this position
  /// all processes see only those: requests behind the position belong to later steps
  bool is_complete = false;
  bool is_cut = false;  ///< as is_complete, because its writer died
  LogExtent extent;     ///< known when the log is published
  /// For a log that continues one of an earlier step: where this step's own requests begin, in the tables and
  /// as a log offset.
  TablePosition begin = {0, 0};
  std::uint64_t first_offset = 0;
};

/// The facts of a step that a matcher needs to answer gets. The registry sends a new view when the step
/// changes.
struct StepView {
  std::uint64_t step = 0;
  std::uint64_t revision = 0;  ///< grows with every change
  bool is_final = false;       ///< published: no other revision follows
  std::uint32_t rule = 0;
  std::string name;  ///< for messages
  std::uint64_t header_revision = 0;
  std::int64_t record_count = 0;
  std::vector<std::byte> header;  ///< CDF-5 encoding; empty before the first enddef
  /// the index of the first own log; the logs of the reopened step come before it
  std::uint64_t first_own_log = 0;
  std::vector<LogView> logs;
  /// In place of `logs`, for a message: the list as it is encoded. Shared with the step.
  std::shared_ptr<const std::vector<std::byte>> packed_logs;
  StepPattern pattern;  ///< known when the step is published
  PublishAt publish_at = PublishAt::close;
  PartitionKind partition = PartitionKind::range;
  bool is_cut = false;    ///< final, but not all writers have closed it
  SegmentId control = 0;  ///< of the writing group; 0: none
  bool is_apart =
      false;  ///< final: its own logs have no record below the base, and earlier logs none from the base on

  /// What is known of all logs.
  struct LogFacts {
    bool is_one_continued = false;  ///< LogView::first_offset
    bool is_one_cut = false;
  };
  std::optional<LogFacts> facts;  ///< set by note_logs()

  /// For each log, the position where the step's own puts begin. For logs of earlier steps, behind all
  /// entries.
  [[nodiscard]] std::vector<TablePosition> begins() const {
    std::vector<TablePosition> positions;
    for (std::size_t i = 0; i < logs.size(); ++i)
      positions.push_back(i < first_own_log ? logs[i].published : logs[i].begin);
    return positions;
  }
  /// The pattern, for plans that use log offsets unchanged. Empty when the offsets continue from step to
  /// step.
  [[nodiscard]] StepPattern pattern_of_offsets() const { return is_continued() ? StepPattern{} : pattern; }
  /// Whether own logs continue those of an earlier step.
  [[nodiscard]] bool is_continued() const noexcept {
    if (facts) return facts->is_one_continued;
    return std::ranges::any_of(logs, [](const LogView& log) { return log.first_offset != 0; });
  }

  /// Whether the step is published and the positions of all its data are in the view. When a writer died,
  /// only its tables have them.
  [[nodiscard]] bool is_told_whole() const noexcept { return is_final && !is_one_cut(); }
  /// The logs do not change any more: looks through them once for is_continued() and is_told_whole(), which
  /// each get of each reader asks.
  void note_logs() noexcept {
    facts.reset();
    facts = LogFacts{is_continued(), is_one_cut()};
  }
  /// The number of records that readers see. `written`: the end of the records in the request tables. When
  /// each put is visible at once, the tables know more records than the registry.
  [[nodiscard]] std::int64_t records_of_readers(std::int64_t written) const noexcept {
    return are_counted_by_tables() ? std::max(record_count, written) : record_count;
  }
  [[nodiscard]] bool are_counted_by_tables() const noexcept {
    return publish_at == PublishAt::write && (!is_final || is_cut);
  }

 private:
  [[nodiscard]] bool is_one_cut() const noexcept {
    return facts ? facts->is_one_cut : std::ranges::any_of(logs, &LogView::is_cut);
  }
};

}  // namespace sluice::matcher
