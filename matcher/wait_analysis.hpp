#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// An open or a get that is stuck: one of the two.
struct Registry::StuckWait {
  const Component* component = nullptr;  ///< that waits
  const std::string* awaited = nullptr;  ///< the name of the component that it waits for
  Group* group = nullptr;
  const GetWait* get = nullptr;
};

/// Finds out who waits in vain. A process is stuck when all of it waits, and none of its waits can end by
/// what processes that are not stuck may still do. Of processes that have not shown up yet the best is
/// assumed.
class Registry::WaitAnalysis {
 public:
  /// What is taken for granted of processes all of whose connections wait: that they do nothing else, and
  /// that a component of which the number of processes is not known has no others; or only what a look has
  /// shown.
  enum class Trust : std::uint8_t { suspected, proven };
  WaitAnalysis(const Registry& registry, Trust trust);

  /// Whether all waits can end. It is made with every message, and mostly they can: that it finds by the
  /// numbers of processes that are blocked, and so takes no longer for more processes.
  [[nodiscard]] bool can_all_end() const noexcept { return can_all_end_; }
  [[nodiscard]] bool is_stuck(ProcessId process) const;
  [[nodiscard]] bool is_stuck(const Group& group) const;
  /// Whether anybody may still do something that frees memory of the node.
  [[nodiscard]] bool can_memory_come(std::uint32_t node) const;
  /// Whether anybody may still do something that gives disk back, of any node.
  [[nodiscard]] bool can_disk_come() const;
  /// Whether what waits for memory, or disk, may get some.
  [[nodiscard]] bool can_be_served(const MemoryWait& wait) const;

  /// The opens and gets of a cycle, each waiting for the component of the next and the last one for the
  /// first's. Empty when none is stuck.
  [[nodiscard]] std::vector<StuckWait> cycle() const;

 private:
  [[nodiscard]] bool is_blocked(const Process& process) const;
  [[nodiscard]] bool can_act(const std::string& component) const;
  [[nodiscard]] bool can_finish(const Group& group) const;
  [[nodiscard]] bool can_be_released(const Step& step) const;
  [[nodiscard]] bool can_be_read(const Step& step, std::size_t reader) const;
  [[nodiscard]] bool may_give_memory(const Step& step, std::uint32_t node) const;
  [[nodiscard]] std::uint32_t stuck_of(const std::string& component) const;
  [[nodiscard]] bool is_held_up(const Step& step) const { return held_up_.contains(step.id); }
  [[nodiscard]] bool can_every_wait_end() const;
  [[nodiscard]] bool can_every_file_come() const;
  void find_stuck();
  bool let_processes_go_on();
  void let_go_on(ProcessId process);
  bool let_steps_go_on();
  [[nodiscard]] bool is_held_by(const Step& step, const Component& component) const;
  [[nodiscard]] bool can_end(const Group& waiting) const;
  [[nodiscard]] bool can_end(const GetWait& waiting) const;
  [[nodiscard]] const Group* hopeless_reader(const Group& waiting) const;
  [[nodiscard]] StuckWait stuck_wait_of(const std::string* component) const;

  const Registry& registry_;
  Trust trust_;
  bool can_all_end_ = false;
  std::optional<std::set<ProcessId>> stuck_;  ///< none, at first: all that are blocked
  std::set<StepId> held_up_;  ///< somebody who writes or reads it waits for memory or disk in vain
  std::map<std::string, std::uint32_t> stuck_in_component_;
  mutable std::map<std::uint32_t, bool> memory_comes_;  ///< can_memory_come, until more is known
};

}  // namespace sluice::matcher
