#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gatherings.hpp"
#include "job_book.hpp"
#include "memory_waits.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// A stuck open or get; exactly one of `group` and `get` is set.
struct StuckWait {
  const Component* component = nullptr;  ///< the component that waits
  const std::string* awaited = nullptr;  ///< name of the component that it waits for
  Group* group = nullptr;
  const GetWait* get = nullptr;
};

/// What the processes of a component do that do not wait, where another one waits and their number is
/// unknown, or another rank waits for memory. A shell may only wait for its command, a rank for the other.
enum class Others : std::uint8_t { may_act, wait };

/// Finds waits that can never end. A process is stuck when all its connections wait, and no process that is
/// not stuck can end any of these waits. Processes that have not connected yet count as able to do anything
/// that others wait for, unless their component starts only when stuck ones have ended.
///
/// At first the analysis only suspects. It assumes that a process whose connections all wait does nothing
/// else. It also assumes that a component has no other processes when their number is unknown. keep_proven()
/// keeps the results that looks have proved.
class WaitAnalysis {
 public:
  /// `gathered`: these wait in a collective call until others of their component come to it. Nothing proves
  /// that, so keep_proven() must not follow.
  explicit WaitAnalysis(const RegistryParts& parts, std::vector<Gatherings::Present> gathered = {},
                        Others others = Others::may_act);

  /// Whether all waits can end. The analysis runs with every message, and mostly all waits can end. It finds
  /// this from the numbers of blocked processes, so more processes do not cost more time.
  [[nodiscard]] bool can_all_end() const noexcept { return can_all_end_; }
  /// The stuck processes. Call this only when not all waits can end.
  [[nodiscard]] const std::set<ProcessId>& stuck() const { return *stuck_; }
  /// Keeps only the processes that are stuck according to looks. Call this only when not all waits can end.
  void keep_proven();

  /// Whether any process may still free memory of the node.
  [[nodiscard]] bool can_memory_come(std::uint32_t node) const;
  /// Whether any process may still free disk space of any node.
  [[nodiscard]] bool can_disk_come() const;
  /// Whether a request for memory or disk space may be served.
  [[nodiscard]] bool can_be_served(const MemoryWait& wait) const;

  /// Whether the wait of the group may end.
  [[nodiscard]] bool can_end(const Group& waiting) const;

  /// The opens and gets of a cycle. Each waits for the component of the next, and the last waits for the
  /// first. Empty when none is stuck.
  [[nodiscard]] std::vector<StuckWait> cycle() const;

 private:
  [[nodiscard]] bool is_stuck(ProcessId process) const;
  [[nodiscard]] bool is_stuck(const Group& group) const;
  [[nodiscard]] bool is_blocked(const Process& process) const;
  [[nodiscard]] bool can_act(const std::string& component) const;
  [[nodiscard]] bool can_itself_act(const std::string& component) const;
  [[nodiscard]] bool is_idle(const Jobs* jobs) const;
  [[nodiscard]] bool can_finish(const Group& group) const;
  [[nodiscard]] bool can_be_released(const Step& step) const;
  [[nodiscard]] bool can_be_read(const Step& step, std::size_t reader) const;
  [[nodiscard]] std::uint32_t stuck_of(const std::string& component) const;
  [[nodiscard]] bool is_held_up(const Step& step) const { return held_up_.contains(step.id); }
  [[nodiscard]] bool rests(const Component& component) const;
  [[nodiscard]] bool can_close(const Component& component, ProcessId process) const;
  [[nodiscard]] bool may_have_others(const Component& component) const;
  [[nodiscard]] bool can_start(const Component& component) const;
  [[nodiscard]] bool can_end(const Component& component) const;
  void suppose_ranks_wait(const MemoryWait& wait);
  [[nodiscard]] bool can_every_wait_end() const;
  [[nodiscard]] bool can_every_file_come() const;
  void find_stuck();
  void let_all_go_on();
  bool let_processes_go_on();
  void let_go_on(ProcessId process);
  bool let_steps_go_on();
  [[nodiscard]] bool is_held_by(const Step& step, const Component& component) const;
  [[nodiscard]] bool can_queue_shorten(const DatasetKey& key) const;
  [[nodiscard]] bool can_end(const GetWait& waiting) const;
  [[nodiscard]] bool can_go_on(const WrittenFile& file) const;
  [[nodiscard]] const Group* hopeless_reader(const Group& waiting) const;
  [[nodiscard]] const std::string& awaited_by(const Group& waiting) const;
  [[nodiscard]] StuckWait stuck_wait_of(const std::string* component) const;

  const RegistryParts& parts_;
  std::vector<Gatherings::Present> gathered_;
  Others others_;
  std::set<ProcessId> only_gathered_;  ///< those of them that wait for nothing else
  bool is_proven_ = false;             ///< only results of looks count
  bool can_all_end_ = false;
  std::optional<std::set<ProcessId>> stuck_;  ///< empty at first: all blocked processes
  std::set<StepId> held_up_;  ///< a writer or reader of the step waits forever for memory or disk space
  std::map<std::string, std::uint32_t> stuck_in_component_;
  /// cached results of can_memory_come(), until more is known
  mutable std::map<std::uint32_t, bool> memory_comes_;
};

}  // namespace sluice::matcher
