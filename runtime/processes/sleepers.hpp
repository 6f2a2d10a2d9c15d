#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::runtime {

/// What descriptors lead to: a pipe, or one end of a connection of sockets.
struct Shared {
  std::string name;  ///< of a pipe with a name, its path; empty: anything else
  int access = 0;    ///< of a descriptor of a pipe: O_RDONLY, O_WRONLY, O_RDWR
};

/// Tells what threads of some processes, the members, sleep for. A thread sleeps *for good* when only members
/// can wake it, or the answer of a matcher.
class Sleepers {
 public:
  /// `waiting`: the members that wait for an answer of the registry.
  Sleepers(const std::set<pid_t>& members, const std::vector<pid_t>& waiting)
      : members_(members), waiting_(waiting) {}

  [[nodiscard]] bool sleeps_for_good(pid_t process, pid_t thread);
  [[nodiscard]] bool is_waiting(pid_t process) const;

 private:
  [[nodiscard]] bool waits_within_mpi(pid_t process) const;
  [[nodiscard]] bool may_wake_by_memory(pid_t process, std::uint64_t address);
  [[nodiscard]] bool may_any_wake(pid_t process, const std::optional<std::vector<int>>& polled);
  [[nodiscard]] bool may_wake(pid_t process, int descriptor, int depth = 0);
  [[nodiscard]] bool may_wake_in_set(pid_t process, int set, int depth);
  [[nodiscard]] bool may_wake_by_event(pid_t process, int descriptor);
  [[nodiscard]] bool may_wake_in_call(pid_t process, int descriptor);
  [[nodiscard]] bool may_wake_by_other_end(pid_t process, int descriptor);
  [[nodiscard]] bool do_members_hold(const Shared& end);
  [[nodiscard]] bool have_others_open(const std::string& thing);
  [[nodiscard]] bool have_others_mapped(const std::string& file);

  const std::set<pid_t>& members_;
  const std::vector<pid_t>& waiting_;
  std::optional<std::set<std::string>> opened_by_others_;  ///< once they are asked for
  std::optional<std::set<std::string>> mapped_by_others_;
};

}  // namespace sluice::runtime
