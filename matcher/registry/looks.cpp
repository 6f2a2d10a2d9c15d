#include "looks.hpp"

#include <algorithm>
#include <utility>

namespace sluice::matcher {

void Looks::ask(const std::set<ProcessId>& suspects) {
  for (const ProcessId id : suspects) {
    Process& process = processes_.at(id);
    if (process.component->processes == 0) {
      ask(*process.component);
    } else {
      ask(process);
    }
  }
}

void Looks::ask(Process& process) {
  if (process.look != Look::none || process.has_files_alone()) return;
  process.look = Look::asked;
  pending_[next_] = {process.id, {}};
  answers_.look({next_++, process.place.node, process.place.index, {}, {process.process_id}});
}

/// Processes that the component has started usually run where the run was started. When they do not, nothing
/// can be proved.
void Looks::ask(Component& component) {
  if (component.look != Look::none) return;
  LookRequest request{next_, 0, 0, component.name, {}};
  request.has_ended = component.is_ending;
  for (const ProcessId id : component.live) {
    const Process& process = processes_.at(id);
    if (!process.is_blocked() && !process.has_wait()) continue;
    if (process.has_files_alone()) continue;
    if (process.place.node != 0) return;
    request.processes.push_back(process.process_id);
  }
  component.look = Look::asked;
  pending_[next_++] = {{}, component.name};
  answers_.look(request);
}

bool Looks::note(std::uint64_t number, bool is_idle) {
  const auto pending = pending_.extract(number);
  if (pending.empty()) return false;
  // It may have resumed, and been asked about again.
  const bool is_outdated = std::any_of(pending_.upper_bound(number), pending_.end(),
                                       [&](const auto& later) { return later.second == pending.mapped(); });
  const auto note_at = [&](auto& looked_at) {
    if (looked_at.look == Look::asked && !is_outdated) looked_at.look = is_idle ? Look::idle : Look::able;
  };
  if (!pending.mapped().component.empty()) {
    note_at(processes_.component(pending.mapped().component));
  } else if (Process* const process = processes_.find(pending.mapped().process)) {
    note_at(*process);
  }
  return true;
}

void Looks::forget_able() {
  for (const ProcessId id : processes_.ids()) {
    Process& process = processes_.at(id);
    if (process.look == Look::able) process.look = Look::none;
    if (process.component->look == Look::able) process.component->look = Look::none;
  }
}

}  // namespace sluice::matcher
