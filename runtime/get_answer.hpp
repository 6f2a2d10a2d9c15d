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

/// The log ranges of a step that one connection has been told of. A range that got shorter since (a growing
/// log) is told again.
class ToldRanges {
 public:
  /// Where the data of a writer's log is, ascending; nothing where it is not known here.
  using RangesOf = std::function<std::span<const LogRange>(std::uint32_t writer)>;

  /// Appends those ranges that a plan with these sources uses, its log offsets moved by `shifts`, and that
  /// were not told.
  void tell(const RangesOf& ranges_of, std::span<const replay::PlanSource> sources,
            std::span<const LogShift> shifts, std::vector<LogRange>& news);
  /// Appends a range of what came from another node unless it was told. It stays as it is.
  void tell_landed(const LogRange& landed, std::vector<LogRange>& news);

 private:
  struct Writer {
    std::vector<std::uint64_t> told_bytes;  ///< per range; 0: not told
  };
  std::unordered_map<std::uint32_t, Writer> writers_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> landed_;  ///< writer and log offset
};

/// The variable of the first access that reads what nobody has written; -1 when there is none. Throws
/// Error(NC_EIO) for accesses that do not fit the step's variables.
[[nodiscard]] int unwritten_variable(matcher::StepIndex& index, const Get& request);

/// Matches the accesses of a get, compiles their plans, and says where the data is. Throws Error(NC_EIO) for
/// accesses that do not fit the step's variables.
[[nodiscard]] Plans answer_get(matcher::StepIndex& index, const Get& request, ToldRanges& told);

}  // namespace sluice::runtime
