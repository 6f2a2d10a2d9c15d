#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sluice/matcher/step_index.hpp"
#include "sluice/replay/plan.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The log ranges of a step that one connection has received. A range that has become shorter since (in a
/// growing log) is sent again.
class AnnouncedRanges {
 public:
  /// The positions of a writer's log data, ascending; empty when they are unknown here.
  using RangesOf = std::function<std::span<const LogRange>(std::uint32_t writer)>;

  /// Appends the ranges that a plan with these sources uses and that were not sent. The plan's log offsets
  /// are moved by `shifts`.
  void tell(const RangesOf& ranges_of, std::span<const replay::PlanSource> sources,
            std::span<const LogShift> shifts, std::vector<LogRange>& news);
  /// Appends a range of data from another node, unless it was sent. Such ranges do not change.
  void tell_landed(const LogRange& landed, std::vector<LogRange>& news);

 private:
  /// By writer: what was sent for each of its ranges. A published step's ranges may be others than those read
  /// while it grew.
  std::unordered_map<std::uint32_t, std::vector<LogRange>> writers_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> landed_;  ///< writer and log offset
};

/// The variable of the first access that reads unwritten elements; -1 when there is none. Throws
/// Error(NC_EIO) for accesses that do not fit the step's variables.
[[nodiscard]] int unwritten_variable(matcher::StepIndex& index, const Get& request);

/// Matches the accesses of a get, compiles their plans, and adds the positions of the data. Throws
/// Error(NC_EIO) for accesses that do not fit the step's variables.
[[nodiscard]] Plans answer_get(matcher::StepIndex& index, const Get& request, AnnouncedRanges& told);

}  // namespace sluice::runtime
