// What is held back: when it is tried again, what can never come, and who waits for what.
#include <algorithm>
#include <utility>

#include "quoted.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"
#include "wait_analysis.hpp"

namespace sluice::matcher {

/// After every change that may let somebody go on, or stop somebody for ever.
void Registry::advance() {
  do {
    settle_waits();
  } while (fail_hopeless_waits());
}

void Registry::settle_waits() {
  for (auto next = waiting_groups_.begin(); next != waiting_groups_.end();) {
    Group& group = **next++;  // the group may leave the list
    decide(group);
    if (!group.is_waiting()) answer_members(group);
  }
  for (auto wait = memory_waits_.begin(); wait != memory_waits_.end();) {
    bool is_over = true;
    Process& process = processes_.at(wait->process);
    try {
      is_over = try_grant(wait->ticket, process, wait->request);
    } catch (const Error& error) {  // the system has no memory
      answers_.refused(wait->ticket, error.status(), error.what());
    }
    if (is_over) --process.waits;
    wait = is_over ? memory_waits_.erase(wait) : std::next(wait);
  }
}

void Registry::drop_waits_of(const Process& process) {
  memory_waits_.remove_if([&](const MemoryWait& wait) { return wait.process == process.id; });
  get_waits_.remove_if([&](const GetWait& wait) { return wait.process == process.id; });
}

void Registry::drop_memory_waits_on(const Step& step, const std::string& reason) {
  memory_waits_.remove_if([&](const MemoryWait& wait) {
    if (wait.request.step != step.id) return false;
    if (Process* process = processes_.find(wait.process)) --process->waits;
    answers_.refused(wait.ticket, NC_EIO, reason);
    return true;
  });
}

/// Answers waits that can never end. True when there was one: others may go on then.
bool Registry::fail_hopeless_waits() {
  if (waiting_groups_.empty() && memory_waits_.empty() && get_waits_.empty()) return false;
  const WaitAnalysis analysis(*this);
  // Memory first: a put that fails lets its process go on, and so may end the waits of others.
  for (const std::uint32_t node : nodes_waited_for()) {
    if (!analysis.can_memory_come(node) && fail_memory_waits(node)) return true;
  }
  return fail_cycle(analysis);
}

/// The nodes whose memory somebody waits for.
std::set<std::uint32_t> Registry::nodes_waited_for() const {
  std::set<std::uint32_t> nodes;
  for (const MemoryWait& wait : memory_waits_)
    nodes.insert(processes_.processes().at(wait.process).place.node);
  for (const Group* group : waiting_groups_) {
    if (group->waits_for == Group::WaitsFor::memory) nodes.insert(group->node);
  }
  return nodes;
}

/// Those of one step only, the youngest: it may be given up, and make room for the others.
bool Registry::fail_memory_waits(std::uint32_t node) {
  const auto is_here = [&](const MemoryWait& wait) { return processes_.at(wait.process).place.node == node; };
  if (std::ranges::none_of(memory_waits_, is_here)) return fail_creates_without_memory(node);
  StepId youngest = 0;
  for (const MemoryWait& wait : memory_waits_)
    if (is_here(wait)) youngest = std::max(youngest, wait.request.step);
  memory_waits_.remove_if([&](const MemoryWait& wait) {
    if (wait.request.step != youngest || !is_here(wait)) return false;
    Process& process = processes_.at(wait.process);
    const std::string text =
        quoted(steps_.at(youngest)->key) + ": " + hopeless_memory_text(node, wait.request.bytes);
    answers_.event(process.name() + " cannot write " + text);
    answers_.refused(wait.ticket, NC_ENO_SPACE, text);
    --process.waits;
    return true;
  });
  return true;
}

bool Registry::fail_creates_without_memory(std::uint32_t node) {
  bool has_failed = false;
  for (auto next = waiting_groups_.begin(); next != waiting_groups_.end();) {
    Group& group = **next++;
    if (group.waits_for != Group::WaitsFor::memory || group.node != node) continue;
    const std::uint64_t bytes = control_slot_bytes * group.size + control_common_bytes;
    refuse(group, NC_ENO_SPACE, hopeless_memory_text(node, bytes));
    answer_members(group);
    has_failed = true;
  }
  return has_failed;
}

bool Registry::fail_cycle(const WaitAnalysis& analysis) {
  const std::vector<StuckWait> cycle = analysis.cycle();
  if (cycle.empty()) return false;
  if (give_own_step(cycle)) return true;
  std::string text = cycle.size() == 1 ? "it can never come: " : "a cycle of waits: ";
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const StuckWait& wait = cycle[i];
    text += (i == 0 ? wait.component->name : ", which") + " waits for " +
            (wait.group != nullptr ? wait_text(*wait.group) : wait_text(*wait.get));
  }
  for (const StuckWait& wait : cycle) {
    if (wait.group != nullptr) {
      refuse(*wait.group, wait.group->waits_for == Group::WaitsFor::readers ? NC_EIO : NC_ENOENT, text);
      answer_members(*wait.group);
    } else {
      refuse_get(*wait.get, NC_EIO, text);
    }
  }
  return true;
}

/// Who reads what it is writing itself cannot wait for its own close. As with a file, it gets what it has
/// put.
bool Registry::give_own_step(const std::vector<StuckWait>& cycle) {
  for (const StuckWait& wait : cycle) {
    if (wait.group == nullptr || wait.group->waits_for != Group::WaitsFor::own_step ||
        wait.group->purpose != GroupPurpose::open_read)
      continue;
    Step& step = *datasets_[wait.group->key].in_progress.back();
    if (step.publish_at != PublishAt::close || (step.header.empty() && !step.is_in_files)) continue;
    give_step(*wait.group, step);
    answer_members(*wait.group);
    return true;
  }
  return false;
}

std::string Registry::wait_text(const GetWait& wait) const {
  return "data of " + wait.text + ", which " + rule_of(steps_.at(wait.step)->key).writer + " has not put yet";
}

std::string Registry::wait_text(const Group& group) const {
  switch (group.waits_for) {
    case Group::WaitsFor::memory:
      return memory_wait_text(group.key);
    case Group::WaitsFor::own_step:
      return quoted(group.key) + ", which it still has open for writing itself";
    case Group::WaitsFor::readers:
      return quoted(group.key) + ", which " + readers_of_file(group.key).front()->component->name +
             " has open for reading";
    case Group::WaitsFor::publication:
      break;
  }
  return quoted(group.key) + " from " + rule_of(group.key).writer;
}

/// Names the oldest file that keeps memory, and for whom.
std::string Registry::memory_wait_text(const DatasetKey& key) const {
  std::string text = "memory to write " + quoted(key);
  for (const auto& [id, step] : steps_) {
    if (step->state != StepState::published || step->consumed_place || step->staged_bytes().empty()) continue;
    if (!step->readers.empty())
      return text + " (" + step->readers.front()->component->name + " has " + quoted(step->key) + " open)";
    const auto& readers = rule_of(step->key).readers;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (!step->read_by[i].has_closed)
        return text + " (" + readers[i] + " has not read " + quoted(step->key) + ")";
    }
  }
  return text;
}

std::string Registry::hopeless_memory_text(std::uint32_t node, std::uint64_t bytes) const {
  return "no room for " + memory_text(node, bytes) + ", and no reader can free any: raise staging.memory";
}

StatusReport Registry::status() const {
  StatusReport report;
  for (const auto& memory : pools_) {
    report.bytes_staged = std::max(report.bytes_staged, memory->used_bytes());
    report.bytes_staged_peak = std::max(report.bytes_staged_peak, memory->used_peak_bytes());
  }
  std::map<DatasetKey, NodeBytes> staged;
  for (const auto& [id, step] : steps_) {
    for (std::size_t i = step->state == StepState::published && !step->is_superseded ? 0
                                                                                     : step->first_own_log;
         i < step->logs.size(); ++i) {
      step->logs[i]->add_staged_bytes(staged[step->key]);
    }
  }
  for (const auto& [key, dataset] : datasets_) {
    const bool was_only_asked_for =
        dataset.steps_published + dataset.steps_discarded == 0 && dataset.in_progress.empty();
    if (was_only_asked_for) continue;
    std::uint64_t bytes = 0;
    if (const auto found = staged.find(key); found != staged.end()) {
      for (const auto& [node, node_bytes] : found->second) bytes += node_bytes;
    }
    report.datasets.push_back({key.rule, key.tail, dataset.steps_published, dataset.steps_discarded,
                               dataset.counters, bytes, dataset.kept_bytes});
  }
  report_drains(report);
  const std::uint64_t now = now_ms_();
  const auto add = [&](const std::string& component, const std::string& text, std::uint64_t since_ms) {
    const auto found = std::find_if(report.waits.begin(), report.waits.end(), [&](const WaitStatus& wait) {
      return wait.component == component && wait.waits_for == text;
    });
    const std::uint64_t waited = now - std::min(now, since_ms);
    if (found == report.waits.end()) {
      report.waits.push_back({component, 1, text, waited});
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
    const Component& component = *processes_.processes().at(wait.process).component;
    add(component.name, memory_wait_text(steps_.at(wait.request.step)->key), wait.since_ms);
  }
  return report;
}

}  // namespace sluice::matcher
