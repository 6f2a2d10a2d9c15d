#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/matcher/request_division.hpp"
#include "sluice/matcher/step_partition.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/matcher/table_scan.hpp"

namespace sluice::runtime {

/// The request tables of one step in this matcher's memory, for the matchers that index them. Each table is
/// read once for all owners. A damaged table is an error in this and every later call.
class HeldRequests {
 public:
  /// `memory` holds the tables. `self`: this matcher, which owns the tables' segments.
  HeldRequests(matcher::SegmentMemory& memory, matcher::MatcherPlace self) : memory_(&memory), self_(self) {}

  /// For a published step: the requests that overlap a part of `owner`, in the owner's first call. Throws
  /// Error(NC_EIO) when a table is damaged.
  [[nodiscard]] std::vector<matcher::WriterRequests> collect(const matcher::StepView& view,
                                                             const matcher::StepPartition& partition,
                                                             std::uint32_t owner);
  /// The matcher that asks about a growing step, and what it may see.
  struct Asker {
    std::uint32_t rank = 0;
    matcher::Visibility reach = matcher::Visibility::published;
    auto operator<=>(const Asker&) const = default;
  };
  /// For a growing step: all requests that `asker` has not received (`is_from_start`: all). Throws as
  /// collect().
  [[nodiscard]] std::vector<matcher::WriterRequests> collect_new(const matcher::StepView& view,
                                                                 const Asker& asker, bool is_from_start);

 private:
  /// Calls `read(writer, log)` for the logs whose tables are here.
  template <class Read>
  void for_each_log(const matcher::StepView& view, Read&& read);

  matcher::SegmentMemory* memory_;
  matcher::MatcherPlace self_;
  std::optional<matcher::RequestDivision> division_;
  std::map<Asker, matcher::TableScan> growing_;
  std::string damage_;
};

/// The matcher that has the log's table; empty when the log has no table. One matcher owns all segments of a
/// log.
[[nodiscard]] inline std::optional<matcher::MatcherPlace> holder_of(const matcher::LogView& log) noexcept {
  if (log.tables.empty()) return std::nullopt;
  return matcher::owner_of(log.tables.front().segment);
}

}  // namespace sluice::runtime
