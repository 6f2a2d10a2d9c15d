#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/step_index.hpp"
#include "sluice/replay/plan.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The log ranges of a step that one connection has been told of. A range that got shorter since (a growing
/// log) is told again.
class ToldRanges {
 public:
  /// Appends those ranges that the plan uses and that were not told.
  void tell(const matcher::StepIndex& index, const replay::Plan& plan, std::size_t element_bytes,
            std::vector<LogRange>& news);

 private:
  struct Writer {
    std::vector<std::uint64_t> told_bytes;  ///< per range; 0: not told
  };
  std::unordered_map<std::uint32_t, Writer> writers_;
};

/// Matches the accesses of a get, compiles their plans, and says where the data is. Throws Error(NC_EIO) for
/// accesses that do not fit the step's variables.
[[nodiscard]] Plans answer_get(matcher::StepIndex& index, const Get& request, ToldRanges& told);

}  // namespace sluice::runtime
