#include "idle_processes.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "process_facts.hpp"
#include "sleepers.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::runtime {

namespace {

using Parents = std::map<pid_t, pid_t>;

/// The directories of threads, with their switches.
using Rest = std::map<std::filesystem::path, std::string>;

bool is_any_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::ranges::find(names, name) != names.end();
}

/// A handler of a timer's signal may go on with something: alarm(2), setitimer(2), timer_create(2). Who
/// catches the signals of all timers removes its files before it ends.
bool has_timers(pid_t process) {
  if (!first_line(directory_of(process) / "timers").empty()) return true;
  const std::string signals = fact_in(directory_of(process) / "status", "SigCgt:");
  constexpr int hexadecimal = 16;
  const auto caught = std::strtoull(signals.c_str(), nullptr, hexadecimal);
  constexpr std::array of_timers{SIGALRM, SIGVTALRM, SIGPROF};
  const auto count =
      std::ranges::count_if(of_timers, [&](int signal) { return ((caught >> (signal - 1)) & 1U) != 0; });
  return count != 0 && static_cast<std::size_t>(count) != of_timers.size();
}

/// The program, whatever its script is called. Without the digits of a version.
bool is_shell(pid_t process) {
  std::string name = std::filesystem::path(target_of(directory_of(process) / "exe")).filename().string();
  name.erase(name.find_last_not_of("0123456789.-") + 1);
  return is_any_of(name, {"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"});
}

/// A process that an MPI library starts beside its ranks. It opens no files on its own.
bool is_launcher(pid_t process) {
  return is_any_of(first_line(directory_of(process) / "comm"),
                   {"mpirun", "mpiexec", "orterun", "prterun", "orted", "prted", "mpiexec.hydra",
                    "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "hydra_pmi_proxy"});
}

bool waits_for_events(const std::filesystem::path& thread) {
  switch (call_of(thread).number) {
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
    case SYS_futex:
      return true;
    default:
      return false;
  }
}

/// With all that they have started.
std::set<pid_t> with_descendants(std::set<pid_t> members, const Parents& parent_of) {
  for (std::size_t before = 0; before != members.size();) {
    before = members.size();
    for (const auto& [process, parent] : parent_of)
      if (members.contains(parent)) members.insert(process);
  }
  return members;
}

/// One look at all members.
class RestingLook {
 public:
  RestingLook(const std::set<pid_t>& members, const std::vector<pid_t>& waiting, const Parents& parent_of)
      : members_(members), parent_of_(parent_of), sleepers_(members, waiting) {}

  /// The threads, where all of them sleep for good; nothing: one of them may act.
  [[nodiscard]] std::optional<Rest> rest() {
    Rest rest;
    for (const pid_t process : members_) {
      if (!is_shell(process) && !is_launcher(process) && has_timers(process)) return std::nullopt;
      for (const pid_t thread : numbers_in(directory_of(process) / "task")) {
        const auto directory = directory_of(process) / "task" / std::to_string(thread);
        if (process_state(directory) == 'Z') continue;
        rest[directory] = switches_of(directory);
        if (!rests(process, thread, directory)) return std::nullopt;
      }
    }
    return rest;
  }

 private:
  [[nodiscard]] bool rests(pid_t process, pid_t thread, const std::filesystem::path& directory) {
    if (is_launcher(process)) return has_ranks(process) && waits_for_events(directory);
    if (sleepers_.sleeps_for_good(process, thread)) return true;
    // So do some shells wait for their children.
    return call_of(directory).number == SYS_rt_sigsuspend && is_shell(process) && has_children(process);
  }
  [[nodiscard]] bool has_children(pid_t process) const {
    return std::ranges::any_of(parent_of_, [&](const auto& entry) { return entry.second == process; });
  }
  /// Before it has started them it may act. A rank without a launcher may have a daemon.
  [[nodiscard]] bool has_ranks(pid_t launcher) const {
    const auto parent = parent_of_.find(launcher);
    if (parent == parent_of_.end()) return false;  // it has just begun
    if (sleepers_.is_waiting(parent->second)) return true;
    const auto started = with_descendants({launcher}, parent_of_);
    return std::ranges::any_of(started, [](pid_t process) { return !is_launcher(process); });
  }

  const std::set<pid_t>& members_;
  const Parents& parent_of_;
  Sleepers sleepers_;
};

/// Whether all members sleep for good at the same time: when all have been seen, none has run or started
/// another process since.
template <class FindMembers>
bool do_all_rest(const FindMembers& find_members, const std::vector<pid_t>& waiting) {
  const Parents parent_of = parents();
  const std::set<pid_t> members = find_members(parent_of);
  const auto is_member = [&](pid_t process) { return members.contains(process); };
  // When the system hides the environment of processes, the other members are unknown.
  if (!std::ranges::all_of(waiting, is_member)) return false;
  const std::optional<Rest> rest = RestingLook(members, waiting, parent_of).rest();
  return rest && std::ranges::includes(members, find_members(parents())) &&
         std::ranges::all_of(*rest, [](const auto& thread) {
           return process_state(thread.first) != 'R' && switches_of(thread.first) == thread.second;
         });
}

}  // namespace

bool is_idle(pid_t process) {
  const auto find_members = [&](const Parents& parent_of) {
    return parent_of.contains(process) ? with_descendants({process}, parent_of) : std::set<pid_t>();
  };
  return do_all_rest(find_members, {process});
}

bool is_component_idle(const std::string& mark, const std::string& component,
                       const std::vector<pid_t>& waiting, bool has_ended_itself) {
  if (waiting.empty() && !has_ended_itself) return false;
  const auto find_members = [&](const Parents& parent_of) {
    std::set<pid_t> of_component;
    for (const pid_t process : processes_with_environment(mark))
      if (has_in_environment(process, "SLUICE_COMPONENT=" + component)) of_component.insert(process);
    return with_descendants(std::move(of_component), parent_of);
  };
  return do_all_rest(find_members, waiting);
}

}  // namespace sluice::runtime
