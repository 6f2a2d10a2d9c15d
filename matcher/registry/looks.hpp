#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// Looks at processes whose waits look hopeless, to find out whether another thread or process may end the
/// waits.
class Looks {
 public:
  Looks(RegistryAnswers& answers, ProcessTable& processes) : answers_(answers), processes_(processes) {}

  /// Requests looks at processes without which the waits would not be hopeless. Each process is looked at
  /// once, until it resumes.
  void ask(const std::set<ProcessId>& suspects);
  /// As Registry::looked(). Returns false when the answer is outdated.
  bool note(std::uint64_t number, bool is_idle);
  /// Looks again at processes that another thread or process may help.
  void forget_able();

 private:
  /// A look without an answer yet: at a process, or at a component.
  struct PendingLook {
    ProcessId process{};
    std::string component;
    bool operator==(const PendingLook&) const = default;
  };

  void ask(Process& process);
  void ask(Component& component);

  RegistryAnswers& answers_;
  ProcessTable& processes_;
  std::map<std::uint64_t, PendingLook> pending_;
  std::uint64_t next_ = 1;
};

}  // namespace sluice::matcher
