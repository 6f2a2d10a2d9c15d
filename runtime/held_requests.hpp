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

/// The request tables of one step that are in this matcher's memory, for those who index them: each table is
/// read once for all owners. Damage is an error, now and ever after.
class HeldRequests {
 public:
  /// `memory` holds the tables; `self`: this matcher, whose segments they are.
  HeldRequests(matcher::SegmentMemory& memory, matcher::MatcherPlace self) : memory_(&memory), self_(self) {}

  /// Of a published step: the requests that overlap a part of `owner`, the first time that it asks. Throws
  /// Error(NC_EIO) when a table is damaged.
  [[nodiscard]] std::vector<matcher::WriterRequests> collect(const matcher::StepView& view,
                                                             const matcher::StepPartition& partition,
                                                             std::uint32_t owner);
  /// Who asks about a step that grows, and what it may see.
  struct Asker {
    std::uint32_t rank = 0;
    matcher::Reach reach = matcher::Reach::published;
    auto operator<=>(const Asker&) const = default;
  };
  /// Of a step that grows: all requests that `asker` was not told of before (`is_from_start`: all). Throws as
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

/// Whether the log has a table, and which matcher has it (all segments of a log are of one matcher).
[[nodiscard]] inline std::optional<matcher::MatcherPlace> holder_of(const matcher::LogView& log) noexcept {
  if (log.tables.empty()) return std::nullopt;
  return matcher::owner_of(log.tables.front().segment);
}

}  // namespace sluice::runtime
