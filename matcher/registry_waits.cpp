// What is held back: when it is tried again, and what can never come.
#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"
#include "wait_analysis.hpp"

namespace sluice::matcher {

namespace {
bool removes(const Group& group) {
  return group.purpose == GroupPurpose::remove;
}
bool does_not_remove(const Group& group) {
  return group.purpose != GroupPurpose::remove;
}
}  // namespace

/// After a change that may let anybody go on, or stop anybody for ever.
void Registry::advance() {
  settle_all();
  fail_waits();
}

/// After a change of one dataset. It may have given memory back, too.
void Registry::advance_on(const DatasetKey& key) {
  std::list<Group*>& waiting = datasets_[key].waiting;
  settle_groups(waiting, removes);
  settle_groups(waiting, does_not_remove);
  advance_memory();
}

/// After a change that may have given memory back.
void Registry::advance_memory() {
  settle_memory();
  fail_waits();
}

/// After a change that lets nobody go on: somebody waits more than before, or has ended.
void Registry::fail_waits() {
  while (fail_hopeless_waits()) settle_all();
}

void Registry::settle_groups(std::list<Group*>& queue, bool (*is_meant)(const Group&)) {
  for (auto next = queue.begin(); next != queue.end();) {
    Group& group = **next++;  // the group may leave the queue
    if (!is_meant(group)) continue;
    decide(group);
    if (!group.is_waiting()) answer_members(group);
  }
}

void Registry::settle_all() {
  // What is deleted may be what others need the memory of.
  settle_groups(waiting_groups_, removes);
  settle_groups(waiting_groups_, does_not_remove);
  settle_memory();
}

void Registry::settle_memory() {
  settle_groups(memory_groups_, does_not_remove);
  for (auto wait = memory_waits_.begin(); wait != memory_waits_.end();) {
    bool is_over = true;
    try {
      is_over = try_grant(*wait);
    } catch (const Error& error) {  // the system has no memory
      refuse(*wait, error.status(), error.what());
    }
    if (is_over) end_wait(*wait);
    wait = is_over ? memory_waits_.erase(wait) : std::next(wait);
  }
}

void Registry::drop_waits_of(const Process& process) {
  memory_waits_.remove_if([&](MemoryWait& wait) {
    if (!wait.concerns(process.id)) return false;
    std::erase_if(wait.waiters, [&](const LandingReader& waiter) { return waiter.process == process.id; });
    // What lands is for several; without any of them its matcher is told to give it up.
    if (wait.is_landing && wait.waiters.empty()) refuse(wait, NC_EIO, "its reader has ended");
    return wait.waiters.empty();
  });
  get_waits_.remove_if([&](const GetWait& wait) { return wait.process == process.id; });
}

void Registry::drop_memory_waits_on(const Step& step, const std::string& reason) {
  memory_waits_.remove_if([&](const MemoryWait& wait) {
    if (wait.request.step != step.id) return false;
    end_wait(wait);
    refuse(wait, NC_EIO, reason);
    return true;
  });
}

/// Nobody reads it any more.
void Registry::drop_landing_waits_on(const Step& step) {
  memory_waits_.remove_if([&](const MemoryWait& wait) {
    if (!wait.is_landing || wait.request.step != step.id) return false;
    end_wait(wait);
    refuse(wait, NC_EBADID, "its readers have closed it");
    return true;
  });
}

/// Answers waits that can never end. True when there was one: others may go on then.
bool Registry::fail_hopeless_waits() {
  if (waiting_groups_.empty() && memory_waits_.empty() && get_waits_.empty()) return false;
  const WaitAnalysis suspected(*this, WaitAnalysis::Trust::suspected);
  if (suspected.can_all_end()) return false;
  ask_for_looks(suspected);
  const WaitAnalysis analysis(*this, WaitAnalysis::Trust::proven);
  if (analysis.can_all_end()) return false;
  if (fail_landing_wait(analysis)) return true;
  // Memory first: a put that fails lets its process go on, and so may end the waits of others.
  for (const std::uint32_t node : nodes_waited_for()) {
    if (!analysis.can_memory_come(node) && fail_memory_waits(node)) return true;
  }
  const bool is_disk_waited_for = std::ranges::any_of(memory_waits_, &MemoryWait::is_for_disk);
  if (is_disk_waited_for && !analysis.can_disk_come() && fail_youngest(&MemoryWait::is_for_disk)) return true;
  return fail_cycle(analysis);
}

/// The last one that cannot be served: its process may then let the others go on.
bool Registry::fail_landing_wait(const WaitAnalysis& analysis) {
  auto hopeless = memory_waits_.end();
  for (auto wait = memory_waits_.begin(); wait != memory_waits_.end(); ++wait)
    if (wait->is_landing && !analysis.can_be_served(*wait)) hopeless = wait;
  if (hopeless == memory_waits_.end()) return false;
  const MemoryWait wait = std::move(*hopeless);
  memory_waits_.erase(hopeless);
  fail(wait);
  return true;
}

void Registry::fail(const MemoryWait& wait) {
  const std::string text = quoted(steps_.at(wait.request.step)->key) + ": " + hopeless_text(wait);
  answers_.event(processes_.at(wait.waiters.front().process).name() +
                 (wait.is_landing ? " cannot read " : " cannot write ") + text);
  refuse(wait, NC_ENO_SPACE, text);
  end_wait(wait);
}

/// The nodes whose memory somebody waits for.
std::set<std::uint32_t> Registry::nodes_waited_for() const {
  std::set<std::uint32_t> nodes;
  for (const MemoryWait& wait : memory_waits_) {
    if (!wait.is_being_served() && wait.is_for_memory()) nodes.insert(wait.place.node);
  }
  for (const Group* group : waiting_groups_) {
    if (group->waits_for == Group::WaitsFor::memory) nodes.insert(group->node);
  }
  return nodes;
}

/// Those of one step only, the youngest: it may be given up, and make room for the others.
bool Registry::fail_memory_waits(std::uint32_t node) {
  const auto is_here = [&](const MemoryWait& wait) {
    return wait.place.node == node && !wait.is_being_served() && wait.is_for_memory();
  };
  return fail_youngest(is_here) || fail_creates_without_memory(node);
}

/// Of the waits that it concerns, those of the youngest step. False when there is none.
bool Registry::fail_youngest(const std::function<bool(const MemoryWait&)>& concerns) {
  StepId youngest = 0;
  for (const MemoryWait& wait : memory_waits_)
    if (concerns(wait)) youngest = std::max(youngest, wait.request.step);
  const auto failed = memory_waits_.remove_if([&](const MemoryWait& wait) {
    if (wait.request.step != youngest || !concerns(wait)) return false;
    fail(wait);
    return true;
  });
  return failed > 0;
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
  const std::string text =
      (cycle.size() == 1 ? "it can never come: " : "a cycle of waits: ") + cycle_text(cycle);
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
/// put, and what is deleted is what was there before.
bool Registry::give_own_step(const std::vector<StuckWait>& cycle) {
  for (const StuckWait& wait : cycle) {
    if (wait.group == nullptr || wait.group->waits_for != Group::WaitsFor::own_step) continue;
    if (wait.group->purpose == GroupPurpose::remove) {
      take_away(*wait.group);
      answer_members(*wait.group);
      return true;
    }
    if (wait.group->purpose != GroupPurpose::open_read) continue;
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
  return quoted(group.key) + " from " + rule_of(group.key).writer + elsewhere_text(group.key);
}

std::string Registry::memory_wait_text(const DatasetKey& key) const {
  return "memory to write " + quoted(key) + blockers_text(Medium::memory);
}

std::string Registry::memory_wait_text(const MemoryWait& wait) const {
  const DatasetKey& key = steps_.at(wait.request.step)->key;
  if (wait.is_being_served()) return "room on disk for " + quoted(key);
  if (wait.is_for_disk())
    return "room in the burst buffer to write " + quoted(key) + blockers_text(Medium::disk);
  if (!wait.is_landing) return memory_wait_text(key);
  return "memory for what it reads of " + quoted(key) + " from other nodes" + blockers_text(Medium::memory);
}

/// Names the oldest file that keeps memory, or disk, and for whom; and what these wait for themselves.
std::string Registry::blockers_text(Medium medium) const {
  const std::string text = blocker(medium);
  return text.empty() ? text : " (" + text + ")";
}

std::string Registry::blocker(Medium medium) const {
  for (const auto& [id, step] : unconsumed_) {
    if (step->state != StepState::published || step->bytes_in(medium).empty()) continue;
    if (!step->readers.empty())
      return step->readers.front()->component->name + " has " + quoted(step->key) + " open";
    for (std::size_t i = 0; i < step->read_by.size(); ++i) {
      if (claim_of_reader(*step, i) == Claim::needed) return missing_readers_text(*step, i);
    }
    if (step->is_draining()) return quoted(step->key) + " is being brought to its file";
  }
  return {};
}

std::string Registry::missing_readers_text(const Step& step, std::size_t reader) const {
  const std::string& name = rule_of(step.key).readers[reader];
  const Component* const component = processes_.find_component(name);
  const std::size_t closed = step.read_by[reader].processes.size();
  std::string text = name + " has not read " + quoted(step.key);
  if (closed > 0 && component != nullptr && component->processes > closed) {
    text = std::to_string(component->processes - closed) + " of " + std::to_string(component->processes) +
           " processes of " + name + " have not read " + quoted(step.key);
  }
  for (const Group* group : waiting_groups_) {
    if (group->component == component && group->waits_for != Group::WaitsFor::memory)
      return text + "; it waits for " + wait_text(*group);
  }
  return text;
}

std::string Registry::hopeless_text(const MemoryWait& wait) const {
  if (wait.is_for_disk())
    return "the burst buffer is full, and nobody can give any of it back: " + wait.spill.trouble +
           ". Give it a directory with more room (staging.spill, or the hint nc_burst_buf_dirname)";
  const std::string text = hopeless_memory_text(wait.place.node, wait.request.bytes);
  return wait.spill.trouble.empty() ? text : text + " or make room in staging.spill: " + wait.spill.trouble;
}

std::string Registry::hopeless_memory_text(std::uint32_t node, std::uint64_t bytes) const {
  const std::string holder = blocker(Medium::memory);
  return "no room for " + memory_text(node, bytes) + ", and no reader can free any" +
         (holder.empty() ? "" : " (" + holder + ")") + ": raise staging.memory" +
         (spills() ? "" : ", or name a directory with room as staging.spill");
}

}  // namespace sluice::matcher
