// Waits that look hopeless, and whether they are: only what has been shown fails.
#include <algorithm>
#include <utility>

#include "sluice/matcher/registry.hpp"
#include "wait_analysis.hpp"

namespace sluice::matcher {

/// At the processes without which the waits would not be hopeless. Each is looked at once, until it goes on.
void Registry::ask_for_looks(const WaitAnalysis& suspected) {
  for (const ProcessId id : processes_.ids()) {
    Process& process = processes_.at(id);
    if (!suspected.is_stuck(id)) continue;
    if (process.component->processes == 0) {
      ask_for_look(*process.component);
    } else {
      ask_for_look(process);
    }
  }
}

void Registry::ask_for_look(Process& process) {
  if (process.look != Look::none) return;
  process.look = Look::asked;
  process.look_number = next_look_;
  looks_[next_look_] = {process.id, {}};
  answers_.look({next_look_++, process.place.node, process.place.index, {}, {process.process_id}});
}

/// What it has started runs where the run was started, as a rule; where it does not, nothing can be shown.
void Registry::ask_for_look(Component& component) {
  if (component.look != Look::none) return;
  LookRequest request{next_look_, 0, 0, component.name, {}};
  for (const ProcessId id : component.live) {
    const Process& process = processes_.at(id);
    if (process.place.node != 0) return;
    request.processes.push_back(process.process_id);
  }
  component.look = Look::asked;
  component.look_number = next_look_;
  looks_[next_look_++] = {{}, component.name};
  answers_.look(request);
}

void Registry::looked(std::uint64_t number, bool is_idle) {
  const auto pending = looks_.extract(number);
  if (pending.empty()) return;
  const auto note = [&](auto& looked_at) {  // it may have gone on, and be asked about anew
    if (looked_at.look == Look::asked && looked_at.look_number == number)
      looked_at.look = is_idle ? Look::idle : Look::able;
  };
  if (!pending.mapped().component.empty()) {
    note(processes_.component(pending.mapped().component));
  } else if (Process* const process = processes_.find(pending.mapped().process)) {
    note(*process);
  }
  if (is_idle) advance();
}

/// A wait that is told has looked hopeless for a while, and nobody was shown to be unable to end it.
void Registry::look_again() {
  const std::string before = std::exchange(suspicion_, suspicion());
  if (suspicion_.empty()) return;
  if (suspicion_ == before && told_suspicions_.insert(suspicion_).second) {
    answers_.event(
        "this may be a cycle of waits: " + suspicion_ +
        ". Another thread, or another process of these components, may still end it, so nothing fails");
  }
  for (const ProcessId id : processes_.ids()) {
    Process& process = processes_.at(id);
    if (process.look == Look::able) process.look = Look::none;
    if (process.component->look == Look::able) process.component->look = Look::none;
  }
  advance();
}

/// What looks hopeless now; empty: nothing.
std::string Registry::suspicion() const {
  if (waiting_groups_.empty() && memory_waits_.empty() && get_waits_.empty()) return {};
  const WaitAnalysis suspected(*this, WaitAnalysis::Trust::suspected);
  if (suspected.can_all_end()) return {};
  const std::vector<StuckWait> cycle = suspected.cycle();
  if (!cycle.empty()) return cycle_text(cycle);
  for (const MemoryWait& wait : memory_waits_) {
    if (suspected.can_be_served(wait)) continue;
    return processes_.processes().at(wait.waiters.front().process).component->name + " waits for " +
           memory_wait_text(wait);
  }
  return {};
}

std::string Registry::cycle_text(const std::vector<StuckWait>& cycle) const {
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const StuckWait& wait = cycle[i];
    text += (i == 0 ? wait.component->name : ", which") + " waits for " +
            (wait.group != nullptr ? wait_text(*wait.group) : wait_text(*wait.get));
  }
  return text;
}

}  // namespace sluice::matcher
