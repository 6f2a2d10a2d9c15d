#pragma once
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

/// A component of the workflow as the registry sees it.
struct Component {
  std::string name;
  std::uint32_t processes = 0;  ///< as started; 0: not known
  bool has_exited = false;
  std::string reason;  ///< how it exited
};

/// A client process. It may have several connections (threads); it has ended when the last of them has.
struct Process {
  ProcessId id{};
  Component* component = nullptr;
  std::uint64_t token = 0;
  std::uint32_t process_id = 0;  ///< of the operating system
  MatcherPlace place;            ///< of the matcher that it talks to
  std::uint32_t connections = 0;
  std::vector<Group*> groups;  ///< of which it is an unfinished member
  std::uint32_t waits = 0;     ///< requests of it that are held back
  /// Its connections whose gets wait for memory for what they read, and for how many segments: several
  /// matchers of a node may bring what one get needs.
  std::map<std::uint64_t, std::uint32_t> landing_waits;

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

  [[nodiscard]] Component& component(const std::string& name);
  [[nodiscard]] const Component* find_component(const std::string& name) const noexcept;
  [[nodiscard]] const std::map<ProcessId, Process>& processes() const noexcept { return processes_; }
  [[nodiscard]] std::vector<ProcessId> processes_of(const Component& component) const;
  /// How many components have exited.
  [[nodiscard]] std::uint32_t ended_components() const noexcept;

 private:
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
