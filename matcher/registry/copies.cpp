#include "copies.hpp"

#include <algorithm>

namespace sluice::matcher {

namespace {
/// Limit of ranks that are named.
constexpr std::size_t most_ranks_named = 8;
}  // namespace

void Copies::note(const Process& process, const CopyNotice& notice, const std::string& file) {
  const auto [found, is_first] =
      copies_.try_emplace({process.id, notice.number}, Copy{file, notice.is_put, notice.is_over, now_ms_()});
  if (!is_first) copies_.erase(found);
}

void Copies::drop_of(ProcessId process) {
  std::erase_if(copies_, [&](const auto& entry) { return entry.first.process == process; });
}

std::vector<CopyStatus> Copies::report(const ProcessTable& processes) const {
  std::vector<CopyStatus> told;
  const std::uint64_t now = now_ms_();
  for (const auto& entry : copies_) {
    const auto& copy = entry.second;
    const Process* const process = processes.processes().find(entry.first.process);
    if (copy.is_over || process == nullptr) continue;
    if (process->is_blocked()) continue;  // its wait is told
    const std::string& component = process->component->name;
    const auto found = std::ranges::find_if(told, [&](const CopyStatus& status) {
      return status.component == component && status.file == copy.file && status.is_put == copy.is_put;
    });
    CopyStatus& status =
        found == told.end() ? told.emplace_back(CopyStatus{component, copy.file, copy.is_put}) : *found;
    ++status.processes;
    status.since_ms = std::max(status.since_ms, now - std::min(now, copy.since_ms));
    if (process->rank != no_rank && status.ranks.size() < most_ranks_named)
      status.ranks.push_back(static_cast<std::uint32_t>(process->rank));
  }
  return told;
}

}  // namespace sluice::matcher
