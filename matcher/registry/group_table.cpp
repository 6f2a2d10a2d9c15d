#include "group_table.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::matcher {

namespace {
constexpr std::uint32_t max_group_size = 1U << 20;

std::string rank_mistake(const Member& member) {
  return "rank " + std::to_string(member.rank) + " in a group of " + std::to_string(member.size);
}
}  // namespace

GroupTable::GroupTable(const FileRules& rules, const DatasetNames& names)
    : rules_(rules), names_(names), publication_waits_(rules.size()) {}

std::string GroupTable::join_mistake(const Process& process, const Open& open) const {
  const Member& member = open.member;
  if (member.size == 0 || member.size > max_group_size) {
    return "a group of " + std::to_string(member.size) + " processes";
  }
  if (member.rank >= member.size) return rank_mistake(member);
  const auto found = groups_.find(GroupId{process.component, member.group});
  if (found == groups_.end()) return {};
  const Group& group = *found->second;
  if (group.purpose != open.purpose || group.key != open.key) {
    return "its group makes another call on " + names_.quoted(group.key);
  }
  return member_mistake(group, process, member);
}

std::string GroupTable::member_mistake(const Group& group, const Process& process, const Member& member) {
  if (member.rank >= member.size) return rank_mistake(member);
  if (group.member.size != member.size) {
    return "its group has " + std::to_string(group.member.size) + " processes, not " +
           std::to_string(member.size);
  }
  if (group.member.spans_nodes != member.spans_nodes ||
      (!group.member.spans_nodes && group.node != process.place.node)) {
    return "the processes of its group disagree about the number of nodes";
  }
  if (group.members.contains(member.rank)) return "rank " + std::to_string(member.rank) + " is there already";
  return {};
}

GroupTable::Joined GroupTable::group_for(const Process& process, const Open& open,
                                         const WrittenFile& follows) {
  auto& entry = groups_[GroupId{process.component, open.member.group}];
  if (entry != nullptr) return {*entry, false};
  entry = std::make_unique<Group>();
  static_cast<Open&>(*entry) = open;
  entry->serial = ++newest_serial_;
  entry->component = process.component;
  entry->follows = follows;
  entry->node = process.place.node;
  return {*entry, true};
}

std::uint64_t GroupTable::own_id(Component& component) {
  constexpr std::uint64_t own_ids = std::uint64_t{1} << 63;  // clients draw theirs below
  std::uint64_t id = own_ids + next_own_id_++;
  while (groups_.contains(GroupId{&component, id})) id = own_ids + next_own_id_++;
  return id;
}

std::unique_ptr<Group> GroupTable::remove(Group& group) {
  stop_waiting(group);
  return std::move(groups_.extract(GroupId{group.component, group.member.group}).mapped());
}

std::vector<Group*> GroupTable::of_component(const Component& component) const {
  std::vector<Group*> found;
  for (const auto& [id, group] : groups_)
    if (group->component == &component) found.push_back(group.get());
  return found;
}

std::vector<const Group*> GroupTable::readers_of_file(const Group& writer) const {
  std::vector<const Group*> readers;
  if (!rules_.of(writer.key).has_one_file() && !writer.is_in_place) return readers;
  for (const auto& [id, group] : groups_) {
    const bool reads = group->purpose == Purpose::read && group->step != nullptr;
    if (reads && group->key == writer.key && group->step->is_in_files) readers.push_back(group.get());
  }
  return readers;
}

GroupTable::Event GroupTable::event_of(Group::WaitsFor waits_for, const Group& group) {
  switch (waits_for) {
    case Group::WaitsFor::memory:
      return Room::memory;
    case Group::WaitsFor::queue:
      return Room::queue;
    case Group::WaitsFor::file:
      return group.follows;
    default:
      return group.key;
  }
}

std::list<Group*>* GroupTable::waiting_for(const Event& event) {
  const auto found = queues_.find(event);
  return found == queues_.end() ? nullptr : &found->second;
}

void GroupTable::note_settled(const Event& event) {
  const std::list<Group*>* const waiting = waiting_for(event);
  if (waiting != nullptr && waiting->empty()) settled_.push_back(event);
}

void GroupTable::drop_empty() {
  for (const Event& event : std::exchange(settled_, {})) {
    const auto found = queues_.find(event);
    if (found != queues_.end() && found->second.empty()) queues_.erase(found);
  }
}

void GroupTable::wait(Group& group, Group::WaitsFor waits_for) {
  std::list<Group*>& queue = queues_[event_of(waits_for, group)];
  if (group.queue == nullptr) {
    group.place_in_all = waiting_.insert(waiting_.end(), &group);
    group.place_in_queue = queue.insert(queue.end(), &group);
  } else {
    if (group.queue != &queue) queue.splice(queue.end(), *group.queue, group.place_in_queue);
    if (group.waits_for == Group::WaitsFor::publication) --publication_waits_[group.key.rule];
  }
  group.queue = &queue;
  group.waits_for = waits_for;
  if (waits_for == Group::WaitsFor::publication) ++publication_waits_[group.key.rule];
}

void GroupTable::stop_waiting(Group& group) noexcept {
  if (group.queue == nullptr) return;
  std::exchange(group.queue, nullptr)->erase(group.place_in_queue);
  waiting_.erase(group.place_in_all);
  if (group.waits_for == Group::WaitsFor::publication) --publication_waits_[group.key.rule];
}

}  // namespace sluice::matcher
