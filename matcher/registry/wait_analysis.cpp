#include "wait_analysis.hpp"

#include <algorithm>
#include <utility>

#include "registry_parts.hpp"

namespace sluice::matcher {
namespace {

/// Of unknown size: a look has seen all of it asleep, or that is supposed.
bool is_asleep(const Component& component, Others others) {
  return component.processes == 0 && (others == Others::wait || component.look == Look::idle);
}

/// A thread waits, and some connections do not. While all threads sleep, nobody uses these.
bool has_idle_connections(const Process& process) {
  return process.has_wait() && !process.is_blocked();
}

}  // namespace

WaitAnalysis::WaitAnalysis(const RegistryParts& parts, std::vector<Gatherings::Present> gathered,
                           Others others)
    : parts_(parts), gathered_(std::move(gathered)), others_(others) {
  for (const auto& [name, component] : parts.processes.components())
    stuck_in_component_[name] = component.blocked;
  for (const auto& [name, component] : parts.processes.components())
    if (is_asleep(component, others_))
      for (const ProcessId id : component.live)
        stuck_in_component_[name] += has_idle_connections(parts.processes.processes().at(id)) ? 1U : 0U;
  for (const Gatherings::Present& present : gathered_) {
    for (const ProcessId id : present.processes) {
      const Process* const process = parts.processes.processes().find(id);
      const bool has_other_threads = process == nullptr || process->connections > process->waits + 1;
      if (!has_other_threads && !process->is_blocked() && only_gathered_.insert(id).second)
        ++stuck_in_component_[present.component];
    }
  }
  for (const MemoryWait& wait : parts.memory_waits.all()) {
    if (wait.is_being_served()) continue;
    held_up_.insert(wait.request.step);
    if (others_ == Others::wait) suppose_ranks_wait(wait);
  }
  can_all_end_ = can_every_wait_end();
  if (!can_all_end_) find_stuck();
}

/// The other ranks may wait for those that wait for memory inside MPI, which the registry cannot see.
void WaitAnalysis::suppose_ranks_wait(const MemoryWait& wait) {
  for (const InboundReader& waiter : wait.waiters) {
    const Component& component = *parts_.processes.processes().at(waiter.process).component;
    if (component.processes > 0)
      stuck_in_component_[component.name] = static_cast<std::uint32_t>(component.live.size());
  }
}

/// Considers only processes that do not wait.
bool WaitAnalysis::can_every_wait_end() const {
  return (can_every_file_come() ||
          std::ranges::all_of(parts_.groups.waiting(),
                              [&](const Group* group) { return can_end(*group); })) &&
         std::ranges::all_of(parts_.memory_waits.all(),
                             [&](const MemoryWait& wait) { return can_be_served(wait); }) &&
         std::ranges::all_of(parts_.get_waits.all(), [&](const GetWait& wait) { return can_end(wait); });
}

/// Whether all groups wait for files of writers that can act, so that can_end() is true of each. Rules are
/// few, and there may be as many groups as there are processes.
bool WaitAnalysis::can_every_file_come() const {
  std::size_t files_waited_for = 0;
  for (std::uint32_t rule = 0; rule < parts_.rules.size(); ++rule) {
    const std::uint32_t waits = parts_.groups.publication_waits(rule);
    if (waits > 0 && !can_act(parts_.rules.at(rule).writer)) return false;
    files_waited_for += waits;
  }
  return files_waited_for == parts_.groups.waiting().size();
}

void WaitAnalysis::find_stuck() {
  stuck_.emplace();
  for (const auto& [id, process] : parts_.processes.processes())
    if (is_blocked(process)) stuck_->insert(id);
  let_all_go_on();
}

/// The least fixed point: a process that can continue may let others continue.
void WaitAnalysis::let_all_go_on() {
  while (let_processes_go_on() || let_steps_go_on()) {
  }
}

/// A process that is stuck by proof is also stuck by suspicion, so the search continues from the suspects.
void WaitAnalysis::keep_proven() {
  is_proven_ = true;
  const std::set<ProcessId> suspects = *stuck_;
  for (const ProcessId id : suspects)
    if (!is_blocked(parts_.processes.processes().at(id))) let_go_on(id);
  let_all_go_on();
  can_all_end_ = can_every_wait_end();
}

bool WaitAnalysis::is_stuck(ProcessId process) const {
  if (stuck_) return stuck_->contains(process);
  const Process* const found = parts_.processes.processes().find(process);
  return found != nullptr && is_blocked(*found);
}

std::uint32_t WaitAnalysis::stuck_of(const std::string& component) const {
  const auto found = stuck_in_component_.find(component);
  return found == stuck_in_component_.end() ? 0 : found->second;
}

/// Looks at each wait once, however many processes share it.
bool WaitAnalysis::let_processes_go_on() {
  memory_comes_.clear();
  const std::size_t before = stuck_->size();
  for (const Group* group : parts_.groups.waiting()) {
    if (!can_end(*group)) continue;
    for (const auto& [rank, member] : group->members)
      if (member.ticket) let_go_on(member.process);
  }
  for (const Gatherings::Present& present : gathered_) {
    if (!can_act(present.component)) continue;  // somebody of it may come to the call
    for (const ProcessId id : present.processes)
      if (only_gathered_.contains(id)) let_go_on(id);
  }
  for (const MemoryWait& wait : parts_.memory_waits.all()) {
    const bool is_of_stuck = std::ranges::any_of(
        wait.waiters, [&](const InboundReader& waiter) { return is_stuck(waiter.process); });
    if (!is_of_stuck || !can_be_served(wait)) continue;
    for (const InboundReader& waiter : wait.waiters) let_go_on(waiter.process);
  }
  for (const GetWait& wait : parts_.get_waits.all())
    if (is_stuck(wait.process) && can_end(wait)) let_go_on(wait.process);
  return stuck_->size() < before;
}

void WaitAnalysis::let_go_on(ProcessId process) {
  if (stuck_->erase(process) > 0)
    --stuck_in_component_[parts_.processes.processes().at(process).component->name];
}

/// Steps continue when all waits for their memory and disk space may be served.
bool WaitAnalysis::let_steps_go_on() {
  memory_comes_.clear();
  const auto freed = std::erase_if(held_up_, [&](StepId step) {
    return std::ranges::all_of(parts_.memory_waits.all(), [&](const MemoryWait& wait) {
      return wait.request.step != step || can_be_served(wait);
    });
  });
  return freed > 0;
}

bool WaitAnalysis::is_stuck(const Group& group) const {
  return group.is_waiting() &&
         std::any_of(group.members.begin(), group.members.end(), [&](const auto& member) {
           return member.second.ticket && is_stuck(member.second.process);
         });
}

bool WaitAnalysis::is_blocked(const Process& process) const {
  if (only_gathered_.contains(process.id)) return true;
  const bool is_blocked =
      process.is_blocked() || (is_asleep(*process.component, others_) && has_idle_connections(process));
  if (!is_blocked || !is_proven_) return is_blocked;
  return process.has_files_alone() || process.look == Look::idle || process.component->look == Look::idle;
}

/// Whether the component has no job, and no process of an earlier one.
bool WaitAnalysis::is_idle(const Jobs* jobs) const {
  if (jobs == nullptr || !jobs->are_all_done()) return false;
  const Component* const component = parts_.processes.find_component(jobs->reader.component);
  return component != nullptr && !component->has_exited && component->live.empty();
}

/// Whether anything new may still come from the component. From one without a job, something comes when
/// there is another file for it.
bool WaitAnalysis::can_act(const std::string& name) const {
  std::set<std::string_view> idle;
  const std::string* actor = &name;
  for (const Jobs* jobs = parts_.jobs.find(name); is_idle(jobs); jobs = parts_.jobs.find(*actor)) {
    if (!idle.insert(*actor).second) return false;  // these wait for files of each other
    actor = &parts_.rules.at(jobs->reader.rule).writer;
  }
  return can_itself_act(*actor);
}

bool WaitAnalysis::can_itself_act(const std::string& name) const {
  const Component* const component = parts_.processes.find_component(name);
  if (component == nullptr) return true;
  if (!can_start(*component)) return false;
  if (const Jobs* const jobs = parts_.jobs.find(name); jobs != nullptr && !component->has_exited) {
    if (jobs->is_about_to_start() || component->live.size() < jobs->least_processes()) return true;
  }
  const bool has_able_process = component->can_act(stuck_of(name)) && !rests(*component);
  return has_able_process || may_have_others(*component);
}

/// Whether the others of the component do nothing until one of the stuck ones goes on, and none does. A look
/// at the whole component has seen them all.
bool WaitAnalysis::rests(const Component& component) const {
  const std::uint32_t stuck = stuck_of(component.name);
  return component.processes == 0 && stuck > 0 && stuck >= component.blocked &&
         (others_ == Others::wait || component.look == Look::idle);
}

/// The matcher publishes what was closed for the last time.
bool WaitAnalysis::can_close(const Component& component, ProcessId process) const {
  const auto is_its = [&](const WrittenFile& file) {
    const Process* const writer = parts_.processes.writer_of(file);
    return writer != nullptr && writer->id == process;
  };
  return !is_stuck(process) && (!rests(component) || parts_.files.has_closed(is_its));
}

/// Whether processes that nobody knows of may act.
bool WaitAnalysis::may_have_others(const Component& component) const {
  return is_proven_ && component.processes == 0 && component.look != Look::idle && !component.has_exited;
}

/// Whether the component has started, or those for whose ends it waits may still end.
bool WaitAnalysis::can_start(const Component& component) const {
  if (parts_.processes.has_started(component)) return true;
  const auto ends = [&](const std::string& name) {
    const Component* const found = parts_.processes.find_component(name);
    return found == nullptr || can_end(*found);
  };
  if (!component.after.empty()) return std::ranges::all_of(component.after, ends);
  return std::ranges::any_of(parts_.processes.running_members(component),
                             [&](const Component* member) { return can_end(*member); });
}

/// A component ends when all its processes do.
bool WaitAnalysis::can_end(const Component& component) const {
  if (component.has_exited || may_have_others(component)) return true;
  return stuck_of(component.name) == 0 && can_start(component);
}

/// Whether all members of a group that has a step may still close it.
bool WaitAnalysis::can_finish(const Group& group) const {
  const auto is_missing = [&](const auto& member) {
    return !member.second.is_finished && !can_close(*group.component, member.second.process);
  };
  if (stuck_of(group.component->name) > 0 && std::ranges::any_of(group.members, is_missing)) return false;
  return group.has_all_arrived() || can_act(group.component->name);
}

bool WaitAnalysis::can_be_released(const Step& step) const {
  if (step.writers != nullptr && !can_finish(*step.writers)) return false;
  // A process that waits for the step's memory cannot close the step before, whatever its other threads do.
  if (is_held_up(step)) return false;
  if (!std::all_of(step.readers.begin(), step.readers.end(),
                   [&](const Group* group) { return can_finish(*group); })) {
    return false;
  }
  if (step.is_superseded || step.state == StepState::discarded) return true;
  const auto& readers = parts_.rules.of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (parts_.readers.claim_of_reader(step, i) == Claim::needed && !can_be_read(step, i)) return false;
  }
  return true;
}

/// Whether all processes of a reader that have not closed the step may still do so, or end.
bool WaitAnalysis::can_be_read(const Step& step, std::size_t reader) const {
  const std::string& name = parts_.rules.of(step.key).readers[reader];
  const Component* const component = parts_.processes.find_component(name);
  if (component == nullptr) return true;
  if (stuck_of(name) == 0) return can_start(*component);
  if (parts_.jobs.find(name, step.key.rule) != nullptr) return can_act(name);
  const auto is_missing = [&](ProcessId process) {
    return is_stuck(process) && !step.read_by[reader].processes.contains(process);
  };
  return can_act(name) && std::ranges::none_of(component->live, is_missing);
}

/// Consumed steps do not count: their memory was reclaimed already, or is too little.
bool WaitAnalysis::can_memory_come(std::uint32_t node) const {
  const auto [known, is_new] = memory_comes_.try_emplace(node, false);
  if (is_new) {
    known->second = parts_.pools.at(node).is_giving_disk_back() ||
                    std::ranges::any_of(parts_.retention.unconsumed(), [&](const auto& entry) {
                      return entry.second->has_data_on(node) && can_be_released(*entry.second);
                    });
  }
  return known->second;
}

bool WaitAnalysis::can_disk_come() const {
  const auto may_give = [&](const auto& entry) {
    const Step& step = *entry.second;
    return !step.bytes_in(Medium::disk).empty() && can_be_released(step);
  };
  return parts_.pools.is_giving_disk_back() || std::ranges::any_of(parts_.retention.unconsumed(), may_give);
}

/// Whether the component has to do something before the step can be erased.
bool WaitAnalysis::is_held_by(const Step& step, const Component& component) const {
  const auto is_its = [&](const Group* group) { return group->component == &component; };
  if (std::ranges::any_of(step.readers, is_its) || (step.writers != nullptr && is_its(step.writers)))
    return true;
  if (step.is_superseded || step.state == StepState::discarded) return false;
  const auto& readers = parts_.rules.of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] == component.name && parts_.readers.claim_of_reader(step, i) != Claim::none) return true;
  }
  return false;
}

/// While a get waits, other processes of its component may wait for its process inside MPI, which the
/// registry cannot see. So other components must free the memory that the get needs.
bool WaitAnalysis::can_be_served(const MemoryWait& wait) const {
  if (wait.is_being_served()) return true;
  if (wait.is_for_disk()) return can_disk_come();
  if (!wait.is_inbound) return can_memory_come(wait.place.node);
  const auto is_held = [&](const Step& step) {
    return std::ranges::any_of(wait.waiters, [&](const InboundReader& waiter) {
      return is_held_by(step, *parts_.processes.processes().at(waiter.process).component);
    });
  };
  return std::ranges::any_of(parts_.retention.unconsumed(), [&](const auto& entry) {
    const Step& step = *entry.second;
    return step.has_data_on(wait.place.node) && can_be_released(step) && !is_held(step);
  });
}

/// A group that has the file open that the waiting group wants to write, and can never close it; null: there
/// is none.
const Group* WaitAnalysis::hopeless_reader(const Group& waiting) const {
  if (waiting.waits_for != Group::WaitsFor::readers) return nullptr;
  for (const Group* reader : parts_.groups.readers_of_file(waiting)) {
    if (!can_finish(*reader)) return reader;
  }
  return nullptr;
}

/// The matcher has the whole file: only what it asks the registry for may hold it up.
bool WaitAnalysis::can_go_on(const WrittenFile& file) const {
  const Process* const writer = parts_.processes.writer_of(file);
  if (writer == nullptr || writer->waits == 0) return true;
  const auto is_of_file = [&](const Ticket& ticket) {
    return WrittenFile{ticket.matcher, ticket.connection} == file;
  };
  return std::ranges::all_of(parts_.memory_waits.all(),
                             [&](const MemoryWait& wait) {
                               return wait.is_inbound || !is_of_file(wait.ticket) || can_be_served(wait);
                             }) &&
         std::ranges::all_of(parts_.groups.waiting(), [&](const Group* group) {
           const bool is_its_create =
               group->writes() && std::ranges::any_of(group->members, [&](const auto& member) {
                 return member.second.ticket && is_of_file(*member.second.ticket);
               });
           return !is_its_create || can_end(*group);
         });
}

bool WaitAnalysis::can_end(const Group& waiting) const {
  if (waiting.waits_for == Group::WaitsFor::file) return can_go_on(waiting.follows);
  if (waiting.waits_for == Group::WaitsFor::members) return can_act(waiting.component->name);
  if (waiting.waits_for == Group::WaitsFor::memory) return can_memory_come(waiting.node);
  if (waiting.waits_for == Group::WaitsFor::readers) return hopeless_reader(waiting) == nullptr;
  if (waiting.waits_for == Group::WaitsFor::queue) return can_queue_shorten(waiting.key);
  const std::string& writer = parts_.rules.of(waiting.key).writer;
  if (waiting.waits_for == Group::WaitsFor::publication && can_act(writer)) return true;
  const auto* const dataset = parts_.datasets.find(waiting.key);
  const auto can_complete = [&](const Step* step) { return can_finish(*step->writers); };
  if (dataset != nullptr) {
    const auto& steps = dataset->in_progress;
    if (waiting.waits_for == Group::WaitsFor::own_step)
      return std::all_of(steps.begin(), steps.end(), can_complete);
    if (std::any_of(steps.begin(), steps.end(), can_complete)) return true;
  }
  return can_act(writer);
}

/// Whether the readers of any unread step may still read it.
bool WaitAnalysis::can_queue_shorten(const DatasetKey& key) const {
  const auto unread = parts_.sequences.unread(key);
  return unread.empty() || std::ranges::any_of(unread, [&](const Step* step) {
           const auto& readers = parts_.rules.of(key).readers;
           for (std::size_t i = 0; i < readers.size(); ++i) {
             const auto is_its = [&](const Group* group) { return group->component->name == readers[i]; };
             const auto open = std::ranges::find_if(step->readers, is_its);
             const bool may_read = open == step->readers.end() ? can_act(readers[i]) : can_finish(**open);
             if (parts_.sequences.is_unread_by(*step, i) && !may_read) return false;
           }
           return true;
         });
}

/// If a process of the writers can continue, it may put the data. If it puts something else, or closes, the
/// next message starts another analysis.
bool WaitAnalysis::can_end(const GetWait& waiting) const {
  const Group* const writers = parts_.datasets.step(waiting.step).writers;
  if (writers == nullptr || parts_.datasets.step(waiting.step).state != StepState::in_progress) return true;
  const bool can_one_put = std::ranges::any_of(writers->members, [&](const auto& member) {
    return !member.second.is_finished && !is_stuck(member.second.process);
  });
  return can_one_put || (!writers->has_all_arrived() && can_act(writers->component->name));
}

/// The component that the group waits for.
const std::string& WaitAnalysis::awaited_by(const Group& waiting) const {
  if (const Group* const reader = hopeless_reader(waiting)) return reader->component->name;
  const FileRule& rule = parts_.rules.of(waiting.key);
  if (waiting.waits_for != Group::WaitsFor::queue) return rule.writer;
  for (const Step* const step : parts_.sequences.unread(waiting.key)) {
    for (std::size_t i = 0; i < rule.readers.size(); ++i)
      if (parts_.sequences.is_unread_by(*step, i)) return rule.readers[i];
  }
  return rule.readers.front();
}

/// The first stuck open or get of the component; null: of any component.
StuckWait WaitAnalysis::stuck_wait_of(const std::string* component) const {
  const auto is_asked_for = [&](const Component& waiting) {
    return component == nullptr || waiting.name == *component;
  };
  for (Group* group : parts_.groups.waiting()) {
    if (!is_asked_for(*group->component) || !is_stuck(*group)) continue;
    return {group->component, &awaited_by(*group), group, nullptr};
  }
  for (const GetWait& wait : parts_.get_waits.all()) {
    const Component* const waiting = parts_.processes.processes().at(wait.process).component;
    if (!is_asked_for(*waiting) || !is_stuck(wait.process)) continue;
    return {waiting, &parts_.rules.of(parts_.datasets.step(wait.step).key).writer, nullptr, &wait};
  }
  return {};
}

std::vector<StuckWait> WaitAnalysis::cycle() const {
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
