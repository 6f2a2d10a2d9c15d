// What there is, and who waits for what.
#include <algorithm>
#include <utility>

#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// In memory; what continues a step counts with it.
std::map<DatasetKey, std::uint64_t> Registry::staged_by_dataset() const {
  std::map<DatasetKey, std::uint64_t> staged;
  for (const auto& [id, step] : steps_) {
    const bool is_newest = step->state == StepState::published && !step->is_superseded;
    NodeBytes bytes;
    for (std::size_t i = is_newest ? 0 : step->first_own_log; i < step->logs.size(); ++i)
      step->logs[i]->add_bytes(Medium::memory, bytes);
    for (const auto& [node, node_bytes] : bytes) staged[step->key] += node_bytes;
  }
  return staged;
}

StatusReport Registry::status() const {
  StatusReport report;
  for (const auto& memory : pools_) {
    report.bytes_staged = std::max(report.bytes_staged, memory->used_bytes());
    report.bytes_staged_peak = std::max(report.bytes_staged_peak, memory->used_peak_bytes());
    report.bytes_spilled += memory->spilled_bytes();
  }
  const std::map<DatasetKey, std::uint64_t> staged = staged_by_dataset();
  for (const auto& [key, dataset] : datasets_) {
    const bool was_only_asked_for =
        dataset.steps_published + dataset.steps_discarded == 0 && dataset.in_progress.empty();
    if (was_only_asked_for) continue;
    const auto bytes = staged.find(key);
    report.bytes_spilled_ever += dataset.bytes_spilled;
    report.datasets.push_back({key.rule, name_of(key), dataset.steps_published, dataset.steps_discarded,
                               dataset.counters, bytes == staged.end() ? 0 : bytes->second,
                               dataset.kept_bytes, dataset.bytes_spilled, dataset.steps_lost});
  }
  report_uses(report);
  report_drains(report);
  report.waits = waits();
  return report;
}

std::vector<WaitStatus> Registry::waits() const {
  std::vector<WaitStatus> waits;
  const std::uint64_t now = now_ms_();
  const auto add = [&](const std::string& component, const std::string& text, std::uint64_t since_ms) {
    const auto found = std::find_if(waits.begin(), waits.end(), [&](const WaitStatus& wait) {
      return wait.component == component && wait.waits_for == text;
    });
    const std::uint64_t waited = now - std::min(now, since_ms);
    if (found == waits.end()) {
      waits.push_back({component, 1, text, waited});
    } else {
      ++found->processes;
      found->since_ms = std::max(found->since_ms, waited);
    }
  };
  for (const Group* group : waiting_groups_) {
    for (const auto& [rank, member] : group->members) {
      if (member.ticket) add(group->component->name, wait_text(*group), member.since_ms);
    }
  }
  for (const GetWait& wait : get_waits_)
    add(processes_.processes().at(wait.process).component->name, wait_text(wait), wait.since_ms);
  for (const MemoryWait& wait : memory_waits_) {
    for (const LandingReader& waiter : wait.waiters)
      add(processes_.processes().at(waiter.process).component->name, memory_wait_text(wait), wait.since_ms);
  }
  return waits;
}

}  // namespace sluice::matcher
