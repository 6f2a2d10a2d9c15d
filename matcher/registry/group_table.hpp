#pragma once
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "dataset_names.hpp"
#include "file_rules.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/process_table.hpp"

namespace sluice::matcher {

/// The groups, and the waiting groups in the order of arrival.
class GroupTable {
 public:
  GroupTable(const FileRules& rules, const DatasetNames& names);

  /// The reason why the process cannot be a member of the group that it names; empty: it can.
  [[nodiscard]] std::string join_mistake(const Process& process, const Open& open) const;
  /// The same for a group that makes the same call.
  [[nodiscard]] static std::string member_mistake(const Group& group, const Process& process,
                                                  const Member& member);
  struct Joined {
    Group& group;
    bool is_new = false;
  };
  /// The group that the call names; made when it does not exist. `follows`: Group::follows.
  [[nodiscard]] Joined group_for(const Process& process, const Open& open, const WrittenFile& follows = {});
  /// The id of a group that no client names.
  [[nodiscard]] std::uint64_t own_id(Component& component);
  /// Removes the group, and gives it to the caller.
  std::unique_ptr<Group> remove(Group& group);

  [[nodiscard]] std::vector<Group*> of_component(const Component& component) const;
  /// The groups that have the file open for reading. The file's writer waits for them, because all steps are
  /// the same file. Empty when the writer makes no file on disk.
  [[nodiscard]] std::vector<const Group*> readers_of_file(const Group& writer) const;

  void wait(Group& group, Group::WaitsFor waits_for);
  void stop_waiting(Group& group) noexcept;
  /// All waiting groups.
  [[nodiscard]] std::list<Group*>& waiting() noexcept { return waiting_; }
  [[nodiscard]] const std::list<Group*>& waiting() const noexcept { return waiting_; }
  /// What lets groups go on: memory, a place in a queue, the end of a file, or another event of a dataset.
  enum class Room : std::uint8_t { memory, queue };
  using Event = std::variant<Room, WrittenFile, DatasetKey>;
  /// Groups that wait for the event; null: none has ever waited, or all are known to have gone.
  [[nodiscard]] std::list<Group*>* waiting_for(const Event& event);
  /// A run may have millions of datasets: an empty list is dropped by the next drop_empty().
  void note_settled(const Event& event);
  /// Nobody may hold a list.
  void drop_empty();
  [[nodiscard]] std::size_t settled() const noexcept { return settled_.size(); }
  /// The number of groups that wait for a publication of a file of the rule.
  [[nodiscard]] std::uint32_t publication_waits(std::uint32_t rule) const { return publication_waits_[rule]; }

 private:
  [[nodiscard]] static Event event_of(Group::WaitsFor waits_for, const Group& group);

  struct GroupId {
    const Component* component = nullptr;
    std::uint64_t id = 0;
    auto operator<=>(const GroupId&) const = default;
  };

  const FileRules& rules_;
  const DatasetNames& names_;
  std::map<GroupId, std::unique_ptr<Group>> groups_;
  std::list<Group*> waiting_;
  std::map<Event, std::list<Group*>> queues_;
  std::vector<Event> settled_;                    ///< may have an empty list in queues_
  std::vector<std::uint32_t> publication_waits_;  ///< by rule
  std::uint64_t next_own_id_ = 0;
  std::uint64_t newest_serial_ = 0;
};

}  // namespace sluice::matcher
