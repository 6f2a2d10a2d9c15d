#include "landing_patterns.hpp"

#include <algorithm>

#include "same_plans.hpp"

namespace sluice::runtime {

bool LandingPatterns::is_of(const Use& use, std::uint32_t rule, const matcher::StepPattern& pattern) {
  return use.rule == rule && have_same_plans(use.pattern, pattern);
}

void LandingPatterns::note(matcher::ProcessId process, std::uint32_t rule,
                           const matcher::StepPattern& pattern, std::span<const LandingPart> parts,
                           bool was_ahead) {
  if (pattern.whole.empty() || parts.empty()) return;
  auto use = std::ranges::find_if(uses_, [&](const Use& known) { return is_of(known, rule, pattern); });
  if (use == uses_.end()) {
    if (uses_.size() == most_uses) uses_.pop_back();
    uses_.push_front({rule, pattern, {}, 0, false});
    use = uses_.begin();
  }
  for (const LandingPart& part : parts) {
    const bool is_known = std::ranges::any_of(
        use->parts, [&](const auto& entry) { return entry.second.contains(part.wanted->fingerprint); });
    use->is_stale = use->is_stale || (was_ahead && !is_known);
    use->parts[process].emplace(part.wanted->fingerprint, part.wanted);
  }
}

std::vector<WantedPartPointer> LandingPatterns::wanted(std::uint32_t rule,
                                                       const matcher::StepPattern& pattern) {
  if (pattern.whole.empty()) return {};
  const auto use = std::ranges::find_if(uses_, [&](const Use& known) { return is_of(known, rule, pattern); });
  if (use == uses_.end()) return {};
  std::rotate(uses_.begin(), use, std::next(use));
  Use& current = uses_.front();
  current.pattern = pattern;
  if (current.is_stale || ++current.steps > most_steps) {
    current.parts.clear();
    current.steps = 0;
    current.is_stale = false;
  }
  Parts all;
  for (const auto& [process, parts] : current.parts) all.insert(parts.begin(), parts.end());
  std::vector<WantedPartPointer> wanted;
  for (const auto& [fingerprint, part] : all) wanted.push_back(part);
  return wanted;
}

std::vector<WantedPartPointer> LandingPatterns::of_process(matcher::ProcessId process, std::uint32_t rule,
                                                           const matcher::StepPattern& pattern) const {
  std::vector<WantedPartPointer> wanted;
  if (pattern.whole.empty()) return wanted;
  const auto use = std::ranges::find_if(uses_, [&](const Use& known) { return is_of(known, rule, pattern); });
  if (use == uses_.end()) return wanted;
  const auto found = use->parts.find(process);
  if (found == use->parts.end()) return wanted;
  for (const auto& [fingerprint, part] : found->second) wanted.push_back(part);
  return wanted;
}

void LandingPatterns::forget(matcher::ProcessId process) {
  for (Use& use : uses_) use.parts.erase(process);
  std::erase_if(uses_, [](const Use& use) { return use.parts.empty(); });
}

}  // namespace sluice::runtime
