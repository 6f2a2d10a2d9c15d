#include "progress.hpp"

#include <utility>

#include "memberships.hpp"
#include "opens.hpp"
#include "registry_parts.hpp"

namespace sluice::matcher {

namespace {
bool removes(const Group& group) {
  return group.purpose == Purpose::remove;
}
bool does_not_remove(const Group& group) {
  return group.purpose != Purpose::remove;
}
}  // namespace

void Progress::advance() {
  settle_all();
  fail_hopeless();
}

void Progress::advance_on(const DatasetKey& key) {
  (void)settle(key);
  advance_memory();
}

void Progress::advance_behind(const WrittenFile& file) {
  if (settle(file)) advance_memory();
}

/// Groups that have waited for the event. Returns false when none has.
bool Progress::settle(const GroupTable::Event& event) {
  const auto is_waited_for = [&] { return parts_.groups.waiting_for(event); };
  if (is_waited_for() == nullptr) return false;
  for (const auto is_meant : {removes, does_not_remove}) settle_groups(*is_waited_for(), is_meant);
  parts_.groups.note_settled(event);
  return true;
}

void Progress::advance_memory() {
  if (is_put_off_) {
    is_memory_due_ = true;
    return;
  }
  settle_memory();
  fail_hopeless();
}

void Progress::catch_up() {
  is_put_off_ = false;
  const bool is_look_due = std::exchange(is_look_due_, false);
  if (std::exchange(is_memory_due_, false)) {
    advance_memory();
  } else if (is_look_due) {
    fail_hopeless();
  }
}

void Progress::fail_hopeless() {
  if (is_put_off_) {
    is_look_due_ = true;
    return;
  }
  while (parts_.hopeless.fail_any()) settle_all();
}

void Progress::settle_groups(std::list<Group*>& queue, bool (*is_meant)(const Group&)) {
  for (auto next = queue.begin(); next != queue.end();) {
    Group& group = **next++;  // the group may leave the queue
    if (!is_meant(group)) continue;
    decide(parts_, group);
    if (!group.is_waiting()) answer_members(parts_, group);
  }
}

void Progress::settle_all() {
  // A deletion may free the memory that others need.
  settle_groups(parts_.groups.waiting(), removes);
  settle_groups(parts_.groups.waiting(), does_not_remove);
  settle_memory();
}

void Progress::settle_memory() {
  for (const GroupTable::Room room : {GroupTable::Room::memory, GroupTable::Room::queue})
    if (auto* const waiting = parts_.groups.waiting_for(room)) settle_groups(*waiting, does_not_remove);
  parts_.memory_waits.settle();
}

}  // namespace sluice::matcher
