#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "landing.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::runtime {

/// Remembers what the processes of this matcher read from other nodes in steps of a pattern, so that it can
/// be brought here when the next step of that pattern is published, before they ask.
///
/// What is read by plans that a process has kept is not seen here. So when something is asked for that was
/// not remembered, and every `most_steps` steps in any case, nothing is brought for one step: then processes
/// ask for what they need, and that is remembered anew.
class LandingPatterns {
 public:
  static constexpr std::uint32_t most_steps = 100;

  /// The process was told of these parts of a published step. `was_ahead`: for which wanted() had an answer.
  void note(matcher::ProcessId process, std::uint32_t rule, const matcher::StepPattern& pattern,
            std::span<const LandingPart> parts, bool was_ahead);
  /// What is to be brought for a step that was published; to be asked once for each step.
  [[nodiscard]] std::vector<WantedPartPointer> wanted(std::uint32_t rule,
                                                      const matcher::StepPattern& pattern);
  /// What this process read of it.
  [[nodiscard]] std::vector<WantedPartPointer> of_process(matcher::ProcessId process, std::uint32_t rule,
                                                          const matcher::StepPattern& pattern) const;
  /// The process has ended: nothing is brought for it any more.
  void forget(matcher::ProcessId process);

 private:
  static constexpr std::size_t most_uses = 16;
  using Parts = std::map<matcher::Fingerprint, WantedPartPointer>;
  struct Use {
    std::uint32_t rule = 0;
    matcher::StepPattern pattern;
    std::map<matcher::ProcessId, Parts> parts;
    std::uint32_t steps = 0;  ///< since it was learned
    bool is_stale = false;
  };
  [[nodiscard]] static bool is_of(const Use& use, std::uint32_t rule, const matcher::StepPattern& pattern);

  std::deque<Use> uses_;  ///< what was used last is in front
};

}  // namespace sluice::runtime
