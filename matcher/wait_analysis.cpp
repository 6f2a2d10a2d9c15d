#include "wait_analysis.hpp"

#include <algorithm>

namespace sluice::matcher {

Registry::WaitAnalysis::WaitAnalysis(const Registry& registry, Trust trust)
    : registry_(registry), trust_(trust) {
  if (trust == Trust::suspected) {
    for (const auto& [name, component] : registry.processes_.components())
      stuck_in_component_[name] = component.blocked;
  } else {
    for (const auto& [id, process] : registry.processes_.processes())
      stuck_in_component_[process.component->name] += is_blocked(process) ? 1U : 0U;
  }
  for (const MemoryWait& wait : registry.memory_waits_)
    if (!wait.is_being_served()) held_up_.insert(wait.request.step);
  can_all_end_ = can_every_wait_end();
  if (!can_all_end_) find_stuck();
}

/// By what processes that do not wait may do.
bool Registry::WaitAnalysis::can_every_wait_end() const {
  return (can_every_file_come() ||
          std::ranges::all_of(registry_.waiting_groups_,
                              [&](const Group* group) { return can_end(*group); })) &&
         std::ranges::all_of(registry_.memory_waits_,
                             [&](const MemoryWait& wait) { return can_be_served(wait); }) &&
         std::ranges::all_of(registry_.get_waits_, [&](const GetWait& wait) { return can_end(wait); });
}

/// What can_end() would say of each group, where all of them wait for files of writers that can act. There
/// may be as many groups as there are processes, and rules are few.
bool Registry::WaitAnalysis::can_every_file_come() const {
  std::size_t files_waited_for = 0;
  for (std::size_t rule = 0; rule < registry_.rules_.size(); ++rule) {
    const std::uint32_t waits = registry_.publication_waits_[rule];
    if (waits > 0 && !can_act(registry_.rules_[rule].writer)) return false;
    files_waited_for += waits;
  }
  return files_waited_for == registry_.waiting_groups_.size();
}

/// The least fixed point: whoever can go on may let others go on.
void Registry::WaitAnalysis::find_stuck() {
  stuck_.emplace();
  for (const auto& [id, process] : registry_.processes_.processes())
    if (is_blocked(process)) stuck_->insert(id);
  while (let_processes_go_on() || let_steps_go_on()) {
  }
}

bool Registry::WaitAnalysis::is_stuck(ProcessId process) const {
  if (stuck_) return stuck_->contains(process);
  const auto& processes = registry_.processes_.processes();
  const auto found = processes.find(process);
  return found != processes.end() && is_blocked(found->second);
}

std::uint32_t Registry::WaitAnalysis::stuck_of(const std::string& component) const {
  const auto found = stuck_in_component_.find(component);
  return found == stuck_in_component_.end() ? 0 : found->second;
}

/// Each wait is looked at once, however many processes share it.
bool Registry::WaitAnalysis::let_processes_go_on() {
  memory_comes_.clear();
  const std::size_t before = stuck_->size();
  for (const Group* group : registry_.waiting_groups_) {
    if (!can_end(*group)) continue;
    for (const auto& [rank, member] : group->members)
      if (member.ticket) let_go_on(member.process);
  }
  for (const MemoryWait& wait : registry_.memory_waits_) {
    const bool is_of_stuck = std::ranges::any_of(
        wait.waiters, [&](const LandingReader& waiter) { return is_stuck(waiter.process); });
    if (!is_of_stuck || !can_be_served(wait)) continue;
    for (const LandingReader& waiter : wait.waiters) let_go_on(waiter.process);
  }
  for (const GetWait& wait : registry_.get_waits_)
    if (is_stuck(wait.process) && can_end(wait)) let_go_on(wait.process);
  return stuck_->size() < before;
}

void Registry::WaitAnalysis::let_go_on(ProcessId process) {
  if (stuck_->erase(process) > 0)
    --stuck_in_component_[registry_.processes_.processes().at(process).component->name];
}

/// Those all of whose waits for memory and disk may be served.
bool Registry::WaitAnalysis::let_steps_go_on() {
  memory_comes_.clear();
  const auto freed = std::erase_if(held_up_, [&](StepId step) {
    return std::ranges::all_of(registry_.memory_waits_, [&](const MemoryWait& wait) {
      return wait.request.step != step || can_be_served(wait);
    });
  });
  return freed > 0;
}

bool Registry::WaitAnalysis::is_stuck(const Group& group) const {
  return group.is_waiting() &&
         std::any_of(group.members.begin(), group.members.end(), [&](const auto& member) {
           return member.second.ticket && is_stuck(member.second.process);
         });
}

bool Registry::WaitAnalysis::is_blocked(const Process& process) const {
  if (!process.is_blocked() || trust_ == Trust::suspected) return process.is_blocked();
  return process.look == Look::idle || process.component->look == Look::idle;
}

/// Whether anything new may still come from the component.
bool Registry::WaitAnalysis::can_act(const std::string& name) const {
  const Component* const component = registry_.processes_.find_component(name);
  if (component == nullptr) return true;
  const bool may_have_others =
      trust_ == Trust::proven && component->processes == 0 && component->look != Look::idle;
  return component->can_act(stuck_of(name)) || (may_have_others && !component->has_exited);
}

/// Whether all members of a group that has a step may still close it.
bool Registry::WaitAnalysis::can_finish(const Group& group) const {
  const auto is_missing = [&](const auto& member) {
    return !member.second.is_finished && is_stuck(member.second.process);
  };
  if (stuck_of(group.component->name) > 0 && std::ranges::any_of(group.members, is_missing)) return false;
  return group.has_all_arrived() || can_act(group.component->name);
}

bool Registry::WaitAnalysis::can_be_released(const Step& step) const {
  if (step.writers != nullptr && !can_finish(*step.writers)) return false;
  // Whoever waits for memory for it cannot close it before, whatever its other threads do.
  if (is_held_up(step)) return false;
  if (!std::all_of(step.readers.begin(), step.readers.end(),
                   [&](const Group* group) { return can_finish(*group); })) {
    return false;
  }
  if (step.is_superseded || step.state == StepState::discarded) return true;
  const auto& readers = registry_.rule_of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (registry_.claim_of_reader(step, i) == Claim::needed && !can_be_read(step, i)) return false;
  }
  return true;
}

/// Whether all processes of a reader that have not closed the step may still do it, or end.
bool Registry::WaitAnalysis::can_be_read(const Step& step, std::size_t reader) const {
  const std::string& name = registry_.rule_of(step.key).readers[reader];
  const Component* const component = registry_.processes_.find_component(name);
  if (component == nullptr || stuck_of(name) == 0) return true;
  const auto is_missing = [&](ProcessId process) {
    return is_stuck(process) && !step.read_by[reader].processes.contains(process);
  };
  return can_act(name) && std::ranges::none_of(component->live, is_missing);
}

/// What is consumed was had already, or is too little.
bool Registry::WaitAnalysis::can_memory_come(std::uint32_t node) const {
  const auto [known, is_new] = memory_comes_.try_emplace(node, false);
  if (is_new) {
    known->second = registry_.pools_.at(node)->is_giving_disk_back() ||
                    std::ranges::any_of(registry_.unconsumed_, [&](const auto& entry) {
                      return may_give_memory(*entry.second, node);
                    });
  }
  return known->second;
}

bool Registry::WaitAnalysis::may_give_memory(const Step& step, std::uint32_t node) const {
  return step.has_data_on(node) && can_be_released(step);
}

bool Registry::WaitAnalysis::can_disk_come() const {
  const auto may_give = [&](const auto& entry) {
    const Step& step = *entry.second;
    return !step.bytes_in(Medium::disk).empty() && can_be_released(step);
  };
  return registry_.is_giving_disk_back() || std::ranges::any_of(registry_.unconsumed_, may_give);
}

/// Whether the component has to do something before the step can go.
bool Registry::WaitAnalysis::is_held_by(const Step& step, const Component& component) const {
  const auto is_its = [&](const Group* group) { return group->component == &component; };
  if (std::ranges::any_of(step.readers, is_its) || (step.writers != nullptr && is_its(step.writers)))
    return true;
  if (step.is_superseded || step.state == StepState::discarded) return false;
  const auto& readers = registry_.rule_of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] == component.name && registry_.claim_of_reader(step, i) != Claim::none) return true;
  }
  return false;
}

/// A get that waits keeps the processes of its component from what they do together, which may be a wait
/// inside MPI that nobody sees: others must free what it needs.
bool Registry::WaitAnalysis::can_be_served(const MemoryWait& wait) const {
  if (wait.is_being_served()) return true;
  if (wait.is_for_disk()) return can_disk_come();
  if (!wait.is_landing) return can_memory_come(wait.place.node);
  const auto is_held = [&](const Step& step) {
    return std::ranges::any_of(wait.waiters, [&](const LandingReader& waiter) {
      return is_held_by(step, *registry_.processes_.processes().at(waiter.process).component);
    });
  };
  return std::ranges::any_of(registry_.unconsumed_, [&](const auto& entry) {
    return may_give_memory(*entry.second, wait.place.node) && !is_held(*entry.second);
  });
}

/// Who has the file open that the group waits to write, and can never close it; null: nobody.
const Group* Registry::WaitAnalysis::hopeless_reader(const Group& waiting) const {
  if (waiting.waits_for != Group::WaitsFor::readers) return nullptr;
  for (const Group* reader : registry_.readers_of_file(waiting.key)) {
    if (!can_finish(*reader)) return reader;
  }
  return nullptr;
}

bool Registry::WaitAnalysis::can_end(const Group& waiting) const {
  if (waiting.waits_for == Group::WaitsFor::memory) return can_memory_come(waiting.node);
  if (waiting.waits_for == Group::WaitsFor::readers) return hopeless_reader(waiting) == nullptr;
  const std::string& writer = registry_.rule_of(waiting.key).writer;
  if (waiting.waits_for == Group::WaitsFor::publication && can_act(writer)) return true;
  const auto dataset = registry_.datasets_.find(waiting.key);
  const auto can_complete = [&](const Step* step) { return can_finish(*step->writers); };
  if (dataset != registry_.datasets_.end()) {
    const auto& steps = dataset->second.in_progress;
    if (waiting.waits_for == Group::WaitsFor::own_step)
      return std::all_of(steps.begin(), steps.end(), can_complete);
    if (std::any_of(steps.begin(), steps.end(), can_complete)) return true;
  }
  return can_act(writer);
}

/// One process of the group that goes on may put what is read; should it put something else, or close, there
/// is another look.
bool Registry::WaitAnalysis::can_end(const GetWait& waiting) const {
  const Group* const writers = registry_.steps_.at(waiting.step)->writers;
  if (writers == nullptr || registry_.steps_.at(waiting.step)->state != StepState::in_progress) return true;
  const bool can_one_put = std::ranges::any_of(writers->members, [&](const auto& member) {
    return !member.second.is_finished && !is_stuck(member.second.process);
  });
  return can_one_put || (!writers->has_all_arrived() && can_act(writers->component->name));
}

/// The first stuck open or get, of that component or (null) of any.
Registry::StuckWait Registry::WaitAnalysis::stuck_wait_of(const std::string* component) const {
  const auto is_asked_for = [&](const Component& waiting) {
    return component == nullptr || waiting.name == *component;
  };
  for (Group* group : registry_.waiting_groups_) {
    if (!is_asked_for(*group->component) || !is_stuck(*group)) continue;
    const Group* const reader = hopeless_reader(*group);
    const std::string& awaited =
        reader != nullptr ? reader->component->name : registry_.rule_of(group->key).writer;
    return {group->component, &awaited, group, nullptr};
  }
  for (const GetWait& wait : registry_.get_waits_) {
    const Component* const waiting = registry_.processes_.processes().at(wait.process).component;
    if (!is_asked_for(*waiting) || !is_stuck(wait.process)) continue;
    return {waiting, &registry_.rule_of(registry_.steps_.at(wait.step)->key).writer, nullptr, &wait};
  }
  return {};
}

std::vector<Registry::StuckWait> Registry::WaitAnalysis::cycle() const {
  std::vector<StuckWait> path;
  for (StuckWait next = stuck_wait_of(nullptr); next.component != nullptr;) {
    const auto seen = std::ranges::find(path, next.component, &StuckWait::component);
    if (seen != path.end()) return {seen, path.end()};
    path.push_back(next);
    next = stuck_wait_of(next.awaited);
  }
  return path;
}

}  // namespace sluice::matcher
