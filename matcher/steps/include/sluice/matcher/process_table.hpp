#pragma once
#include <boost/container/flat_set.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/matcher/ascending_map.hpp"
#include "sluice/matcher/by_number.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/on_demand.hpp"
#include "sluice/matcher/published_file.hpp"
#include "sluice/matcher/run_view.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

struct ReadEnd;
struct Group;

/// A step that was not published when a process of its writer died.
struct LostStep {
  DatasetKey key;
  StepId step = 0;  ///< 0: there was none yet
};

/// The result of a look at processes whose connections all wait.
enum class Look : std::uint8_t {
  none,   ///< no look since one of the processes resumed
  asked,  ///< a look is under way
  able,   ///< another thread, or another process of the component, may act
  idle,   ///< no thread or process may act
};

/// The reason of a component that has ended with status 0, and that nothing had asked to end.
inline constexpr std::string_view well_ended = "exited with status 0";

/// A component of the workflow in the registry.
struct Component {
  std::string name;
  std::uint32_t processes = 0;                 ///< number of processes at start; 0: not known
  boost::container::flat_set<ProcessId> live;  ///< processes that are connected
  /// processes that have ended; kept when the number of processes is known
  boost::container::flat_set<ProcessId> ended;
  std::uint32_t blocked = 0;   ///< number of live processes with Process::is_blocked
  bool has_connected = false;  ///< a process of the component has connected at some time
  bool is_ending = false;      ///< its first process has ended; files of it may not be published yet
  bool has_exited = false;
  std::string reason;                ///< how the component exited
  std::uint32_t restarts_left = 0;   ///< how often a failure is followed by another start
  std::uint32_t restarts = 0;        ///< how often that has happened
  std::vector<LostStep> lost;        ///< since its last start
  std::uint32_t opens_per_step = 1;  ///< of a stream
  std::vector<std::string> after;    ///< the components that end before it starts
  std::string ensemble;              ///< of a member
  std::uint32_t at_most = 0;         ///< members that run at a time; 0: all
  std::size_t place = 0;             ///< in the order in which the members start
  /// the look at the whole component, used when the number of its processes is not known
  Look look = Look::none;

  /// Programs that only look at the run: not a component of the workflow.
  [[nodiscard]] bool is_attached() const noexcept { return name == attached_name; }
  /// Whether a failure is followed by another start, whose processes need what these have not read.
  [[nodiscard]] bool may_restart() const noexcept { return restarts_left > 0 && !has_exited; }
  /// Whether the component may still act when `stuck` of its processes no longer do anything. When the number
  /// of processes is not known, only connected processes count.
  [[nodiscard]] bool can_act(std::uint32_t stuck) const noexcept {
    if (has_exited) return false;
    const bool is_size_known = processes > 0 && !is_ending;
    return is_size_known ? stuck < processes : live.empty() || stuck < live.size();
  }
};

/// The rank of a process in a group.
struct GroupMembership {
  Group* group = nullptr;
  std::uint32_t rank = 0;
  bool operator==(const GroupMembership&) const = default;
};

/// A client process. It may have several connections (threads). The process has ended when its last
/// connection has ended.
struct Process {
  ProcessId id{};
  Component* component = nullptr;
  std::uint64_t token = 0;
  std::uint32_t process_id = 0;  ///< of the operating system
  std::int32_t rank = no_rank;   ///< in the component's MPI_COMM_WORLD, as its launcher says
  MatcherPlace place;            ///< of the matcher that it is connected to
  std::uint32_t connections = 0;
  /// Files that it writes by the C library, each by a connection of the matcher's own. Other processes that
  /// it has started may write them on, so they count neither as threads nor as waiting.
  std::uint32_t files = 0;
  /// The groups in which it has not finished, by Group::serial. A process may have 100,000 files open.
  AscendingMap<std::uint64_t, GroupMembership, 1> memberships;
  bool has_opened = false;  ///< it has asked for a coupled file
  std::uint32_t waits = 0;  ///< its requests that are held back
  Look look = Look::none;
  /// By connection: the number of segments that its get waits for. Several matchers of a node may fetch the
  /// data of one get.
  OnDemand<std::map<std::uint64_t, std::uint32_t>> inbound_waits;

  /// "model (process 4711)"
  [[nodiscard]] std::string name() const;
  /// No group when the process is not in it, or has finished.
  [[nodiscard]] GroupMembership membership_in(const Group& group) const noexcept;
  /// The membership through which the process has the step open for reading; no group when it has not.
  [[nodiscard]] GroupMembership reads(const Step& step) const noexcept;
  /// The same for the membership that the request ends: the process may have the step open several times.
  [[nodiscard]] GroupMembership closes(const Step& step, const ReadEnd& close) const noexcept;
  /// The same, for writing.
  [[nodiscard]] GroupMembership writes(const Step& step) const noexcept;
  /// It has ended, and files of it are not published yet.
  [[nodiscard]] bool has_files_alone() const noexcept { return connections == 0 && files > 0; }
  /// At least one of its threads waits. The others may have connections that nobody uses: two libraries of a
  /// process have some each.
  [[nodiscard]] bool has_wait() const noexcept {
    return connections > 0 && waits + inbound_waits->size() > 0;
  }
  /// Every known thread of the process waits; of one that has ended, all of its files.
  [[nodiscard]] bool is_blocked() const noexcept {
    const std::size_t waiting = waits + inbound_waits->size();
    return waiting > 0 && waiting >= (connections > 0 ? connections : files);
  }
};

/// The components and their processes.
class ProcessTable {
 public:
  explicit ProcessTable(const std::vector<ComponentSize>& components);

  /// Adds a connection of the process that `token` names.
  Process& connect(const std::string& component, std::uint64_t token, std::uint32_t process_id);
  /// Throws Error(NC_EINVAL) for an unknown process.
  [[nodiscard]] Process& at(ProcessId id);
  [[nodiscard]] Process* find(ProcessId id) noexcept;
  /// The process is looked at soon: brings it into the cache.
  void expect(ProcessId id) const noexcept;
  void erase(ProcessId id);
  /// The last connection of the process is for the file; and the end of it.
  void begin_file(Process& process, const WrittenFile& file);
  void end_file(Process& process, const WrittenFile& file);
  /// The process that the file is of; null: the file has been published or given up.
  [[nodiscard]] const Process* writer_of(const WrittenFile& file) const noexcept;
  /// Calls `change`, which changes the process's waits or connections, and updates the count of blocked
  /// processes.
  template <class Change>
  static void change(Process& process, const Change& change) {
    const bool was_blocked = process.is_blocked();
    change();
    process.look = Look::none;
    process.component->look = Look::none;
    process.component->blocked += process.is_blocked() ? 1U : 0U;
    process.component->blocked -= was_blocked ? 1U : 0U;
  }

  /// The component has failed, and is started again. All its processes have been erased.
  static void restart(Component& component);

  [[nodiscard]] Component& component(const std::string& name);
  [[nodiscard]] const std::map<std::string, Component, std::less<>>& components() const noexcept {
    return components_;
  }
  [[nodiscard]] const Component* find_component(const std::string& name) const noexcept;
  /// Whether the coordinator has started the component, as far as that follows from the ends of others.
  [[nodiscard]] bool has_started(const Component& component) const;
  /// The members of the component's ensemble that have started and have not ended.
  [[nodiscard]] std::vector<const Component*> running_members(const Component& component) const;
  /// In the order of their connections.
  [[nodiscard]] const ByNumber<ProcessId, Process>& processes() const noexcept { return processes_; }
  /// In the order of their connections.
  [[nodiscard]] std::vector<ProcessId> ids() const;
  [[nodiscard]] std::vector<ProcessId> processes_of(const Component& component) const;

 private:
  static void note_start(const Process& process);
  /// Whether the member has started when so many have ended.
  [[nodiscard]] static bool has_turn(const Component& member, std::size_t ended) noexcept {
    return member.at_most == 0 || member.place < ended + member.at_most;
  }
  [[nodiscard]] std::size_t ended_members(const std::string& ensemble) const;

  struct Identity {
    std::string component;
    std::uint64_t token = 0;
    std::uint32_t process_id = 0;  // a fork has its parent's token
    auto operator<=>(const Identity&) const = default;
  };

  std::map<std::string, Component, std::less<>>
      components_;  // nodes keep their addresses: groups and processes point to them
  std::map<std::string, std::vector<const Component*>, std::less<>> ensembles_;
  ByNumber<ProcessId, Process> processes_;
  std::map<Identity, ProcessId> by_identity_;
  std::map<WrittenFile, ProcessId> files_;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::matcher
