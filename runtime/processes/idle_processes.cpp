#include "idle_processes.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "sluice/runtime/run_processes.hpp"

namespace sluice::runtime {

namespace {

/// A sleep of at least this time counts as endless: MPI's own threads wake up after some minutes.
constexpr std::uint64_t long_sleep_ms = 60'000;

const std::filesystem::path processes{"/proc"};

std::string first_line(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::vector<pid_t> numbers_in(const std::filesystem::path& directory) {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t number = 0;
    const auto [rest, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc() && rest == name.data() + name.size()) found.push_back(number);
  }
  return found;
}

/// The system call that a thread sleeps in.
struct Call {
  long number = -1;  ///< -1: the thread does not sleep, or the system does not report it
  std::array<std::uint64_t, 4> arguments{};
};

Call call_of(const std::filesystem::path& thread) {
  std::istringstream words(first_line(thread / "syscall"));
  Call call;
  if (!(words >> call.number)) return {};
  for (std::uint64_t& argument : call.arguments) {
    std::string word;
    words >> word;
    argument = std::strtoull(word.c_str(), nullptr, 16);
  }
  return call;
}

bool is_long(std::uint64_t timeout_ms) {
  const auto signed_ms = static_cast<std::int32_t>(timeout_ms);
  return signed_ms < 0 || static_cast<std::uint64_t>(signed_ms) >= long_sleep_ms;
}

/// So the libraries receive what the matcher answers. By other flags, another socket may be meant.
bool is_receiving_answer(std::uint64_t flags) {
  return flags == MSG_CMSG_CLOEXEC || flags == (MSG_CMSG_CLOEXEC | MSG_PEEK);
}

/// Used when /proc hides the call: checks the kernel function in which the thread sleeps. What a poll waits
/// for is not known then.
bool is_idle_in(const std::string& place) {
  return std::ranges::any_of(std::array{"futex", "skb_wait_for_more_packets"},
                             [&](const char* word) { return place.find(word) != std::string::npos; });
}

/// What a thread may be woken by, besides threads of its own process.
class Wakers {
 public:
  explicit Wakers(std::filesystem::path process) : process_(std::move(process)) {}

  [[nodiscard]] bool may_wake_polled(std::uint64_t address, std::uint64_t count) const {
    constexpr std::uint64_t most_polled = 1024;
    std::vector<pollfd> polled(std::min(count, most_polled));
    std::ifstream memory(process_ / "mem", std::ios::binary);
    memory.seekg(static_cast<std::streamoff>(address));
    const auto bytes = static_cast<std::streamsize>(polled.size() * sizeof(pollfd));
    if (count > most_polled || !memory.read(reinterpret_cast<char*>(polled.data()), bytes)) return true;
    const auto is_open = [](const pollfd& one) { return one.fd >= 0; };
    // Who polls nothing waits for a signal.
    if (std::ranges::none_of(polled, is_open)) return true;
    return std::ranges::any_of(polled, [&](const pollfd& one) { return is_open(one) && may_wake(one.fd); });
  }
  /// A word that other processes have, too, as that of a semaphore or a lock between processes.
  [[nodiscard]] bool may_wake_by_memory(std::uint64_t address) const {
    std::ifstream maps(process_ / "maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long begin = 0, end = 0;
      std::array<char, 5> kind{};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, kind.data()) != 3) continue;
      if (address >= begin && address < end) return kind[3] == 's';
    }
    return false;
  }
  /// A set of epoll(7), which may be in another set.
  [[nodiscard]] bool may_wake_in_set(int set, int depth = 0) const {
    std::ifstream facts(process_ / "fdinfo" / std::to_string(set));
    if (!facts || depth > 4) return true;
    for (std::string line; std::getline(facts, line);) {
      int descriptor = -1;
      if (std::sscanf(line.c_str(), "tfd: %d", &descriptor) == 1 && may_wake(descriptor, depth)) return true;
    }
    return false;
  }

 private:
  /// An MPI library waits for its own daemons and ranks all the time, by sockets and pipes.
  [[nodiscard]] bool may_wake(int descriptor, int depth = 0) const {
    std::error_code error;
    const std::string kind =
        std::filesystem::read_symlink(process_ / "fd" / std::to_string(descriptor), error).string();
    if (error) return false;  // it was closed
    const auto is = [&](const char* word) { return kind.find(word) != std::string::npos; };
    if (is("[eventfd]")) return !uses_mpi() || has_kernel_events();
    if (is("[timerfd]")) return is_armed(descriptor);
    if (is("[eventpoll]")) return may_wake_in_set(descriptor, depth + 1);
    if (kind.starts_with("socket:") || kind.starts_with("pipe:")) return !uses_mpi();
    return true;
  }
  [[nodiscard]] bool is_armed(int timer) const {
    std::ifstream facts(process_ / "fdinfo" / std::to_string(timer));
    for (std::string line; std::getline(facts, line);) {
      if (line.starts_with("it_value:")) return line.find("(0, 0)") == std::string::npos;
    }
    return true;
  }
  [[nodiscard]] bool uses_mpi() const { return maps("/libmpi"); }
  /// The kernel tells by an eventfd, too, what it has read or written, or that a time has passed.
  [[nodiscard]] bool has_kernel_events() const { return maps("[io_uring]") || maps("/[aio]"); }
  [[nodiscard]] bool maps(const char* what) const {
    std::ifstream mappings(process_ / "maps");
    for (std::string line; std::getline(mappings, line);) {
      if (line.find(what) != std::string::npos) return true;
    }
    return false;
  }

  std::filesystem::path process_;
};

bool is_thread_idle(const std::filesystem::path& process, const std::filesystem::path& thread) {
  const Wakers wakers(process);
  const Call call = call_of(thread);
  switch (call.number) {
    case SYS_futex:
      return call.arguments[3] == 0 && !wakers.may_wake_by_memory(call.arguments[0]);  // no time limit
#ifdef SYS_poll
    case SYS_poll:
      return is_long(call.arguments[2]) && !wakers.may_wake_polled(call.arguments[0], call.arguments[1]);
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
      return is_long(call.arguments[3]) && !wakers.may_wake_in_set(static_cast<int>(call.arguments[0]));
    case SYS_ppoll:
      return call.arguments[2] == 0 && !wakers.may_wake_polled(call.arguments[0], call.arguments[1]);
    case SYS_recvmsg:
      return is_receiving_answer(call.arguments[2]);
    case -1:
      break;
    default:
      return false;
  }
  std::ifstream stream(thread / "syscall");
  std::string word;
  if (stream >> word) return false;  // the thread runs
  return is_idle_in(first_line(thread / "wchan"));
}

/// Whether a handler of a timer's signal may go on with something: alarm(2), setitimer(2), timer_create(2).
bool has_timers(const std::filesystem::path& process) {
  std::ifstream timers(process / "timers");
  std::string line;
  if (timers && std::getline(timers, line)) return true;
  std::ifstream status(process / "status");
  while (std::getline(status, line)) {
    if (!line.starts_with("SigCgt:")) continue;
    const auto caught = std::strtoull(line.c_str() + std::strlen("SigCgt:"), nullptr, 16);
    const auto of_timers = [&](int signal) { return ((caught >> (signal - 1)) & 1U) != 0; };
    return of_timers(SIGALRM) || of_timers(SIGVTALRM) || of_timers(SIGPROF);
  }
  return false;
}

bool are_threads_idle(const std::filesystem::path& process) {
  if (has_timers(process)) return false;
  const std::vector<pid_t> threads = numbers_in(process / "task");
  return !threads.empty() && std::ranges::all_of(threads, [&](pid_t thread) {
    return is_thread_idle(process, process / "task" / std::to_string(thread));
  });
}

std::filesystem::path directory_of(pid_t process) {
  return processes / std::to_string(process);
}

bool has_ended(pid_t process) {
  const std::string stat = first_line(directory_of(process) / "stat");
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() || stat[name_end + 2] == 'Z';
}

/// A process that an MPI library starts beside a process without a launcher. It opens no files on its own.
bool is_mpi_daemon(pid_t process) {
  const std::string name = first_line(directory_of(process) / "comm");
  return name == "orted" || name == "prted" || name == "hydra_pmi_proxy";
}

/// Shells catch all signals that would end them before their traps.
bool is_shell(pid_t process) {
  const std::string name = first_line(directory_of(process) / "comm");
  return std::ranges::any_of(std::array{"sh", "bash", "dash", "ksh", "zsh"},
                             [&](const char* shell) { return name == shell; });
}

/// Whether the process has one thread, which waits for the end of its children.
bool waits_for_children(pid_t process) {
  if (numbers_in(directory_of(process) / "task").size() != 1) return false;
  if (!is_shell(process) && has_timers(directory_of(process))) return false;
  const Call call = call_of(directory_of(process));
  if (call.number != -1) return call.number == SYS_wait4 || call.number == SYS_waitid;
  return first_line(directory_of(process) / "wchan") == "do_wait";
}

std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  for (const pid_t process : numbers_in(processes)) {
    const std::string stat = first_line(directory_of(process) / "stat");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream words(stat.substr(name_end + 1));
    char state = 0;
    pid_t parent = 0;
    if (words >> state >> parent && state != 'Z') found[process] = parent;
  }
  return found;
}

/// With all that they have started.
std::set<pid_t> with_descendants(std::set<pid_t> members, const std::map<pid_t, pid_t>& parent_of) {
  for (std::size_t before = 0; before != members.size();) {
    before = members.size();
    for (const auto& [process, parent] : parent_of)
      if (members.contains(parent)) members.insert(process);
  }
  return members;
}

/// Whether a process that is no client of the run can do nothing by itself.
bool is_without_work(pid_t process, const std::map<pid_t, pid_t>& parent_of) {
  const bool has_children =
      std::ranges::any_of(parent_of, [&](const auto& entry) { return entry.second == process; });
  return has_ended(process) || is_mpi_daemon(process) || (has_children && waits_for_children(process));
}

/// Check twice: one thread may wake another during the check.
bool is_idle_itself(pid_t process) {
  return are_threads_idle(directory_of(process)) && are_threads_idle(directory_of(process));
}

}  // namespace

bool is_idle(pid_t process) {
  const std::map<pid_t, pid_t> parent_of = parents();
  return is_idle_itself(process) &&
         std::ranges::all_of(with_descendants({process}, parent_of), [&](pid_t other) {
           return other == process || is_without_work(other, parent_of);
         });
}

bool is_component_idle(const std::string& mark, const std::string& component,
                       const std::vector<pid_t>& waiting, bool has_ended_itself) {
  const std::map<pid_t, pid_t> parent_of = parents();
  std::set<pid_t> members;
  const auto of_component = processes_with_environment("SLUICE_COMPONENT=" + component);
  for (const pid_t process : processes_with_environment(mark))
    if (std::ranges::find(of_component, process) != of_component.end()) members.insert(process);
  members = with_descendants(std::move(members), parent_of);
  // When the system hides the environment of processes, the other members are unknown.
  const auto is_member = [&](pid_t process) { return members.contains(process); };
  if ((waiting.empty() && !has_ended_itself) || !std::ranges::all_of(waiting, is_member)) return false;
  return std::ranges::all_of(members, [&](pid_t process) {
    const bool is_waiting = std::ranges::find(waiting, process) != waiting.end();
    return is_waiting ? is_idle_itself(process) : is_without_work(process, parent_of);
  });
}

}  // namespace sluice::runtime
