#include "reader_history.hpp"

#include <algorithm>

namespace sluice::runtime {

namespace {

/// Whether plans for steps of one pattern are valid for steps of the other: all plans, or the plans for
/// records from the base on.
bool have_same_plans(const matcher::StepPattern& a, const matcher::StepPattern& b) noexcept {
  return a.whole == b.whole || (!b.latest.empty() && a.latest == b.latest);
}

}  // namespace

/// Null when nothing is known. Steps without a pattern are never alike.
ReaderHistory::Use* ReaderHistory::find(const Kind& step) {
  if (step.pattern.whole.empty()) return nullptr;
  const auto use = std::ranges::find_if(uses_, [&](const Use& known) {
    return known.rule == step.rule && have_same_plans(known.pattern, step.pattern);
  });
  if (use == uses_.end()) return nullptr;
  std::rotate(uses_.begin(), use, std::next(use));
  return &uses_.front();
}

ReaderHistory::Use& ReaderHistory::find_or_add(const Kind& step) {
  if (Use* const known = find(step)) return *known;
  if (uses_.size() == most_uses) uses_.pop_back();
  return uses_.emplace_front(Use{step.rule, step.pattern, {}, 0, false});
}

void ReaderHistory::note_logs(matcher::ProcessId process, const Kind& step,
                              std::span<const matcher::LogRange> ranges) {
  if (step.pattern.whole.empty() || ranges.empty()) return;
  auto& logs = find_or_add(step).reads[process].logs;
  for (const matcher::LogRange& range : ranges) logs.insert(range.writer - step.pattern.first_writer);
}

void ReaderHistory::note_inbound(matcher::ProcessId process, const Kind& step,
                                 std::span<const InboundPart> parts, bool was_ahead) {
  if (step.pattern.whole.empty() || parts.empty()) return;
  Use& use = find_or_add(step);
  for (const InboundPart& part : parts) {
    const matcher::Fingerprint& name = part.wanted->fingerprint;
    const bool is_known =
        std::ranges::any_of(use.reads, [&](const auto& entry) { return entry.second.parts.contains(name); });
    use.is_stale = use.is_stale || (was_ahead && !is_known);
    use.reads[process].parts.emplace(name, part.wanted);
  }
}

std::vector<std::uint32_t> ReaderHistory::logs(matcher::ProcessId process, const Kind& step) {
  std::vector<std::uint32_t> logs;
  const Use* const use = find(step);
  if (use == nullptr) return logs;
  const auto reads = use->reads.find(process);
  if (reads == use->reads.end()) return logs;
  for (const std::uint32_t log : reads->second.logs) logs.push_back(log + step.pattern.first_writer);
  return logs;
}

std::vector<FetchSpecPointer> ReaderHistory::wanted(const Kind& step) {
  std::vector<FetchSpecPointer> wanted;
  Use* const use = find(step);
  if (use == nullptr) return wanted;
  use->pattern = step.pattern;
  if (use->is_stale || ++use->steps > most_steps) {
    for (auto& [process, reads] : use->reads) reads.parts.clear();
    use->steps = 0;
    use->is_stale = false;
  }
  Parts all;
  for (const auto& [process, reads] : use->reads) all.insert(reads.parts.begin(), reads.parts.end());
  if (all.empty()) use->steps = 0;
  for (const auto& [name, part] : all) wanted.push_back(part);
  return wanted;
}

std::vector<FetchSpecPointer> ReaderHistory::inbound(matcher::ProcessId process, const Kind& step) {
  std::vector<FetchSpecPointer> wanted;
  const Use* const use = find(step);
  if (use == nullptr) return wanted;
  const auto reads = use->reads.find(process);
  if (reads == use->reads.end()) return wanted;
  for (const auto& [name, part] : reads->second.parts) wanted.push_back(part);
  return wanted;
}

void ReaderHistory::forget(matcher::ProcessId process) {
  for (Use& use : uses_) use.reads.erase(process);
  std::erase_if(uses_, [](const Use& use) { return use.reads.empty(); });
}

}  // namespace sluice::runtime
