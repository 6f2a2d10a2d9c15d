#include "hopeless_waits.hpp"

#include <algorithm>
#include <utility>

#include "group_outcomes.hpp"
#include "memberships.hpp"
#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"
#include "wait_texts.hpp"

namespace sluice::matcher {

bool HopelessWaits::fail_any() {
  if (is_nobody_waiting()) return false;
  WaitAnalysis analysis(parts_);
  if (analysis.can_all_end()) return false;
  parts_.looks.ask(analysis.stuck());
  analysis.keep_proven();
  if (analysis.can_all_end()) return false;
  if (exceed_queue(analysis) || fail_inbound(analysis)) return true;
  // Memory first: a put that fails lets its process continue, and the process may end the waits of others.
  for (const std::uint32_t node : nodes_waited_for()) {
    if (!analysis.can_memory_come(node) && fail_memory(node)) return true;
  }
  const bool is_disk_waited_for = std::ranges::any_of(parts_.memory_waits.all(), &MemoryWait::is_for_disk);
  if (is_disk_waited_for && !analysis.can_disk_come() && fail_youngest(&MemoryWait::is_for_disk)) return true;
  return fail_cycle(analysis);
}

/// No file would have made the writer wait, so the queue grows instead of a create that fails.
bool HopelessWaits::exceed_queue(const WaitAnalysis& analysis) {
  const std::list<Group*>* const waiting = parts_.groups.waiting_for(GroupTable::Room::queue);
  if (waiting == nullptr) return false;
  for (Group* const group : *waiting) {
    if (analysis.can_end(*group)) continue;
    group->exceeds_queue = true;
    parts_.answers.event(group->component->name + " goes on beyond the queue of '" +
                         parts_.rules.of(group->key).pattern +
                         "', because its readers cannot go on before: " + text_of(parts_, *group));
    return true;
  }
  return false;
}

/// Fails only the last wait that cannot be served: its process may then let the others continue.
bool HopelessWaits::fail_inbound(const WaitAnalysis& analysis) {
  const MemoryWait* hopeless = nullptr;
  for (const MemoryWait& wait : parts_.memory_waits.all())
    if (wait.is_inbound && !analysis.can_be_served(wait)) hopeless = &wait;
  if (hopeless == nullptr) return false;
  parts_.memory_waits.fail(*hopeless, hopeless_text(parts_, *hopeless));
  return true;
}

/// The nodes with memory waits.
std::set<std::uint32_t> HopelessWaits::nodes_waited_for() const {
  std::set<std::uint32_t> nodes;
  for (const MemoryWait& wait : parts_.memory_waits.all()) {
    if (!wait.is_being_served() && wait.is_for_memory()) nodes.insert(wait.place.node);
  }
  for (const Group* group : parts_.groups.waiting()) {
    if (group->waits_for == Group::WaitsFor::memory) nodes.insert(group->node);
  }
  return nodes;
}

/// Fails only the waits of the youngest step: the step may be given up, and its memory freed for the others.
bool HopelessWaits::fail_memory(std::uint32_t node) {
  const auto is_here = [&](const MemoryWait& wait) {
    return wait.place.node == node && !wait.is_being_served() && wait.is_for_memory();
  };
  return fail_youngest(is_here) || fail_creates(node);
}

/// Fails the waits of the youngest step among those that `concerns` selects. Returns false when there is
/// none.
bool HopelessWaits::fail_youngest(const std::function<bool(const MemoryWait&)>& concerns) {
  std::vector<const MemoryWait*> youngest;
  for (const MemoryWait& wait : parts_.memory_waits.all()) {
    if (!concerns(wait)) continue;
    if (!youngest.empty() && wait.request.step < youngest.front()->request.step) continue;
    if (!youngest.empty() && wait.request.step > youngest.front()->request.step) youngest.clear();
    youngest.push_back(&wait);
  }
  for (const MemoryWait* const wait : youngest) parts_.memory_waits.fail(*wait, hopeless_text(parts_, *wait));
  return !youngest.empty();
}

bool HopelessWaits::fail_creates(std::uint32_t node) {
  bool has_failed = false;
  for (auto next = parts_.groups.waiting().begin(); next != parts_.groups.waiting().end();) {
    Group& group = **next++;
    if (group.waits_for != Group::WaitsFor::memory || group.node != node) continue;
    refuse(parts_, group, NC_ENO_SPACE, hopeless_memory_text(parts_, node, control_bytes(group.member.size)));
    answer_members(parts_, group);
    has_failed = true;
  }
  return has_failed;
}

bool HopelessWaits::fail_cycle(const WaitAnalysis& analysis) {
  const std::vector<StuckWait> cycle = analysis.cycle();
  if (cycle.empty()) return false;
  if (give_own_step(cycle)) return true;
  const std::string text =
      (cycle.size() == 1 ? "nobody can end this wait: " : "a cycle of waits: ") + cycle_text(parts_, cycle);
  for (const StuckWait& wait : cycle) {
    if (wait.group != nullptr) {
      refuse(parts_, *wait.group, wait.group->waits_for == Group::WaitsFor::readers ? NC_EIO : NC_ENOENT,
             text);
      answer_members(parts_, *wait.group);
    } else {
      parts_.get_waits.refuse(*wait.get, NC_EIO, text);
    }
  }
  return true;
}

/// A process that reads a file which it is writing cannot wait for its own close. As with a file, it gets the
/// data that it has put. If it removes the file, the earlier contents are removed.
bool HopelessWaits::give_own_step(const std::vector<StuckWait>& cycle) {
  for (const StuckWait& wait : cycle) {
    if (wait.group == nullptr || wait.group->waits_for != Group::WaitsFor::own_step) continue;
    if (wait.group->purpose == Purpose::remove) {
      take_away(parts_, *wait.group);
      answer_members(parts_, *wait.group);
      return true;
    }
    if (wait.group->purpose != Purpose::read) continue;
    Step& step = *parts_.datasets[wait.group->key].in_progress.back();
    if (step.publish_at != PublishAt::close || (step.header.empty() && !step.is_in_files)) continue;
    give_step(parts_, *wait.group, step);
    answer_members(parts_, *wait.group);
    return true;
  }
  return false;
}

bool HopelessWaits::look_again() {
  ask_about_others();
  const std::string before = std::exchange(suspicion_, suspicion());
  if (suspicion_.empty()) return false;
  if (suspicion_ == before && reported_suspicions_.insert(suspicion_).second) {
    parts_.answers.event(
        "this may be a cycle of waits: " + suspicion_ +
        ". Another thread or process of these components may still end the cycle, so Sluice goes on");
  }
  parts_.looks.forget_able();
  return true;
}

/// A shell that has used a coupled file itself is connected, and does not wait. So its component is looked at
/// now and then, and not with each message.
void HopelessWaits::ask_about_others() {
  if (is_nobody_waiting()) return;
  const WaitAnalysis suspected(parts_, {}, Others::wait);
  if (suspected.can_all_end()) return;
  parts_.looks.forget_able();
  parts_.looks.ask(suspected.stuck());
}

/// The waits that look hopeless now; empty: none.
std::string HopelessWaits::suspicion() const {
  if (is_nobody_waiting()) return {};
  const WaitAnalysis suspected(parts_, parts_.gatherings.incomplete());
  if (suspected.can_all_end()) return {};
  const std::vector<StuckWait> cycle = suspected.cycle();
  std::string text = cycle.empty() ? std::string() : cycle_text(parts_, cycle);
  for (const MemoryWait& wait : parts_.memory_waits.all()) {
    if (suspected.can_be_served(wait)) continue;
    const ProcessId waiter = wait.waiters.front().process;
    text += (text.empty() ? "" : "; ") + parts_.processes.processes().at(waiter).component->name +
            " waits for " + text_of(parts_, wait);
    break;
  }
  return text;
}

bool HopelessWaits::is_nobody_waiting() const {
  return parts_.groups.waiting().empty() && parts_.memory_waits.all().empty() &&
         parts_.get_waits.all().empty();
}

}  // namespace sluice::matcher
