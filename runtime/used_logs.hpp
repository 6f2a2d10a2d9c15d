#pragma once
#include <boost/container/flat_set.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::runtime {

/// Remembers whose logs each process reads in steps of a pattern, so that it can be told where they are in
/// the next step of that pattern before it asks.
class UsedLogs {
 public:
  /// The process was told of these ranges of a published step of the rule.
  void note(matcher::ProcessId process, std::uint32_t rule, const matcher::StepPattern& pattern,
            std::span<const matcher::LogRange> ranges);
  /// The logs that the process has needed in steps of the same pattern; they may be beyond those that there
  /// are.
  [[nodiscard]] std::vector<std::uint32_t> writers(matcher::ProcessId process, std::uint32_t rule,
                                                   const matcher::StepPattern& pattern);
  /// A connection of the process has ended. Others of it are told anew.
  void forget(matcher::ProcessId process);

 private:
  struct Use {
    std::uint32_t rule = 0;
    matcher::StepPattern pattern;
    boost::container::flat_set<std::uint32_t> writers;  ///< from the step's first own log on, modulo 2^32
  };
  using Uses = std::deque<Use>;  ///< what was used last is in front

  [[nodiscard]] static Uses::iterator find(Uses& uses, std::uint32_t rule,
                                           const matcher::StepPattern& pattern);

  std::map<matcher::ProcessId, Uses> uses_;
};

}  // namespace sluice::runtime
