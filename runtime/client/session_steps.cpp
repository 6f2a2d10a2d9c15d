// The session's memory of steps: positions of their data, their sizes, and logs to continue.
#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::runtime {

std::shared_ptr<LogRangeMap> Session::step_logs(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  if (step_logs_.size() >= most_step_logs_) {
    std::erase_if(step_logs_, [](const auto& entry) { return entry.second.expired(); });
    most_step_logs_ = 2 * step_logs_.size() + 16;
  }
  auto& known = step_logs_[step];
  auto logs = known.lock();
  if (logs == nullptr) {
    logs = std::make_shared<LogRangeMap>(segments_);
    known = logs;
  }
  return logs;
}

/// When no user has the step open, the matcher sends the ranges again at its next opening.
void Session::note_ranges(std::uint64_t step, std::span<const LogRange> ranges) {
  std::shared_ptr<LogRangeMap> logs;
  {
    const std::lock_guard lock(mutex_);
    const auto known = step_logs_.find(step);
    if (known != step_logs_.end()) logs = known->second.lock();
  }
  if (logs != nullptr) logs->add(ranges);
}

/// Keeps the step's logs for the user that opened the step. This user adds the same ranges and gets the
/// errors, because the matcher counts the step as opened.
void Session::note_opened(const Opened& opened) {
  if (opened.ranges.empty()) return;
  auto logs = step_logs(opened.step);
  try {
    logs->add(opened.ranges);
  } catch (const Error&) {
  }
  const std::lock_guard lock(mutex_);
  opened_logs_[opened.step] = std::move(logs);
}

void Session::forget_opened(std::uint64_t step) {
  std::shared_ptr<LogRangeMap> logs;  // destroyed after the mutex is unlocked
  const std::lock_guard lock(mutex_);
  if (const auto opened = opened_logs_.extract(step)) logs = opened.mapped();
}

std::optional<LogSize> Session::expected_size(const StepKind& kind) const {
  const std::lock_guard lock(mutex_);
  const auto known = expected_sizes_.find(kind);
  if (known == expected_sizes_.end()) return std::nullopt;
  return known->second;
}

void Session::remember_size(const StepKind& kind, LogSize size) {
  constexpr std::size_t most_kinds = 256;  // for a program whose steps are never alike
  const std::lock_guard lock(mutex_);
  if (expected_sizes_.size() >= most_kinds) expected_sizes_.clear();
  expected_sizes_[kind] = size;
}

void Session::keep_log(const DatasetKey& key, KeptLog log) {
  constexpr std::size_t most_logs = 256;  // for a program with very many files, most of them written once
  const std::lock_guard lock(mutex_);
  if (kept_logs_.size() >= most_logs && !kept_logs_.contains(key)) {
    // Drop the older half at once, so that a program that makes a file for each step does not search all logs
    // each time.
    std::vector<std::uint64_t> steps;
    for (const auto& [other, kept] : kept_logs_) steps.push_back(kept.step);
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::ranges::nth_element(steps, middle);
    std::erase_if(kept_logs_, [&](const auto& entry) { return entry.second.step < *middle; });
  }
  kept_logs_.insert_or_assign(key, std::move(log));
}

Session::KeptLog Session::take_log(const DatasetKey& key, const Member& member) {
  const std::lock_guard lock(mutex_);
  const auto kept = kept_logs_.extract(key);
  if (kept.empty()) return {};
  KeptLog& log = kept.mapped();
  return log.rank == member.rank && log.size == member.size ? std::move(log) : KeptLog{};
}

}  // namespace sluice::runtime
