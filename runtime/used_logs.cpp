#include "used_logs.hpp"

#include <algorithm>

#include "same_plans.hpp"

namespace sluice::runtime {

namespace {
/// Patterns that are remembered of a process.
constexpr std::size_t most_uses = 32;
}  // namespace

UsedLogs::Uses::iterator UsedLogs::find(Uses& uses, std::uint32_t rule, const matcher::StepPattern& pattern) {
  return std::ranges::find_if(
      uses, [&](const Use& use) { return use.rule == rule && have_same_plans(use.pattern, pattern); });
}

void UsedLogs::note(matcher::ProcessId process, std::uint32_t rule, const matcher::StepPattern& pattern,
                    std::span<const matcher::LogRange> ranges) {
  if (pattern.whole.empty() || ranges.empty()) return;
  Uses& uses = uses_[process];
  auto use = find(uses, rule, pattern);
  if (use == uses.end()) {
    if (uses.size() == most_uses) uses.pop_back();
    uses.push_front({rule, pattern, {}});
    use = uses.begin();
  }
  for (const matcher::LogRange& range : ranges) use->writers.insert(range.writer - pattern.first_writer);
}

std::vector<std::uint32_t> UsedLogs::writers(matcher::ProcessId process, std::uint32_t rule,
                                             const matcher::StepPattern& pattern) {
  const auto known = uses_.find(process);
  if (known == uses_.end() || pattern.whole.empty()) return {};
  const auto use = find(known->second, rule, pattern);
  if (use == known->second.end()) return {};
  std::rotate(known->second.begin(), use, std::next(use));
  std::vector<std::uint32_t> writers;
  for (const std::uint32_t writer : known->second.front().writers)
    writers.push_back(writer + pattern.first_writer);
  return writers;
}

void UsedLogs::forget(matcher::ProcessId process) {
  uses_.erase(process);
}

}  // namespace sluice::runtime
