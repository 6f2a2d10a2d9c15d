#pragma once
#include <boost/container/flat_set.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/segment_pool.hpp"

namespace sluice::matcher {

struct Group;

/// What a look at processes whose connections all wait has told.
enum class Look : std::uint8_t {
  none,   ///< there was none since one of them went on
  asked,  ///< it is under way
  able,   ///< another thread, or another process of the component, may act
  idle,   ///< nobody may
};

/// A component of the workflow as the registry sees it.
struct Component {
  std::string name;
  std::uint32_t processes = 0;                  ///< as started; 0: not known
  boost::container::flat_set<ProcessId> live;   ///< that are connected
  boost::container::flat_set<ProcessId> ended;  ///< that were; kept where the number is known
  std::uint32_t blocked = 0;                    ///< of those that are there: Process::is_blocked
  bool has_connected = false;                   ///< any process of it, ever
  bool has_exited = false;
  std::string reason;             ///< how it exited
  Look look = Look::none;         ///< at all of it, where the number of its processes is not known
  std::uint64_t look_number = 0;  ///< of the last look that was asked for

  /// Whether anything new may still come from it, where `stuck` of its processes do nothing any more. That
  /// there are no others than those which are connected has to be shown.
  [[nodiscard]] bool can_act(std::uint32_t stuck) const noexcept {
    if (has_exited) return false;
    return processes > 0 ? stuck < processes : live.empty() || stuck < live.size();
  }
};

/// A rank of a group that a process is.
struct GroupMembership {
  Group* group = nullptr;
  std::uint32_t rank = 0;
  bool operator==(const GroupMembership&) const = default;
};

/// A client process. It may have several connections (threads); it has ended when the last of them has.
struct Process {
  ProcessId id{};
  Component* component = nullptr;
  std::uint64_t token = 0;
  std::uint32_t process_id = 0;  ///< of the operating system
  MatcherPlace place;            ///< of the matcher that it talks to
  std::uint32_t connections = 0;
  std::vector<GroupMembership> memberships;  ///< that it has not finished
  std::uint32_t waits = 0;                   ///< requests of it that are held back
  /// Its connections whose gets wait for memory for what they read, and for how many segments: several
  /// matchers of a node may bring what one get needs.
  std::map<std::uint64_t, std::uint32_t> landing_waits;
  Look look = Look::none;
  std::uint64_t look_number = 0;  ///< of the last look that was asked for

  /// "model (process 4711)"
  [[nodiscard]] std::string name() const;
  /// Every thread of it that we know of waits.
  [[nodiscard]] bool is_blocked() const noexcept {
    const std::size_t waiting = waits + landing_waits.size();
    return waiting > 0 && waiting >= connections;
  }
};

/// The components and their processes.
class ProcessTable {
 public:
  explicit ProcessTable(const std::vector<ComponentSize>& components);

  /// A new connection of the process that `token` names.
  Process& connect(const std::string& component, std::uint64_t token, std::uint32_t process_id);
  /// Throws Error(NC_EINVAL) for a process that is not there.
  [[nodiscard]] Process& at(ProcessId id);
  [[nodiscard]] Process* find(ProcessId id) noexcept;
  void erase(ProcessId id);
  /// Does what changes the process's waits or connections, and keeps count of the blocked.
  template <class Change>
  static void change(Process& process, const Change& change) {
    const bool was_blocked = process.is_blocked();
    change();
    process.look = Look::none;
    process.component->look = Look::none;
    process.component->blocked += process.is_blocked() ? 1U : 0U;
    process.component->blocked -= was_blocked ? 1U : 0U;
  }

  [[nodiscard]] Component& component(const std::string& name);
  [[nodiscard]] const std::map<std::string, Component, std::less<>>& components() const noexcept {
    return components_;
  }
  [[nodiscard]] const Component* find_component(const std::string& name) const noexcept;
  [[nodiscard]] const std::map<ProcessId, Process>& processes() const noexcept { return processes_; }
  [[nodiscard]] std::vector<ProcessId> ids() const;
  [[nodiscard]] std::vector<ProcessId> processes_of(const Component& component) const;
  /// How many components have exited.
  [[nodiscard]] std::uint32_t ended_components() const noexcept;

 private:
  static void note_start(const Process& process);

  struct Identity {
    std::string component;
    std::uint64_t token = 0;
    std::uint32_t process_id = 0;  // a fork has its parent's token
    auto operator<=>(const Identity&) const = default;
  };

  std::map<std::string, Component, std::less<>>
      components_;  // nodes stay where they are: groups and processes point to them
  std::map<ProcessId, Process> processes_;
  std::map<Identity, ProcessId> by_identity_;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::matcher
