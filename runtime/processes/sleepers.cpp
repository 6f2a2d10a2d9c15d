#include "sleepers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "process_facts.hpp"
#include "unix_sockets.hpp"

namespace sluice::runtime {

namespace {

/// So the libraries receive what the matcher answers. By other flags, another socket may be meant.
bool is_receiving_answer(std::uint64_t flags) {
  return flags == MSG_CMSG_CLOEXEC || flags == (MSG_CMSG_CLOEXEC | MSG_PEEK);
}

/// Some of MPI's own threads wake up after some minutes, and do nothing then.
bool is_endless(std::uint64_t timeout_ms, bool uses_mpi) {
  constexpr std::int32_t long_sleep_ms = 60'000;
  const auto signed_ms = static_cast<std::int32_t>(timeout_ms);
  return signed_ms < 0 || (uses_mpi && signed_ms >= long_sleep_ms);
}

bool maps(pid_t process, const char* what) {
  return std::ranges::any_of(mapped_by(process), [&](const MappedRange& mapping) {
    return mapping.file.find(what) != std::string::npos;
  });
}

/// Nothing: the memory cannot be read.
template <class Item>
std::optional<std::vector<Item>> memory_of(pid_t process, std::uint64_t address, std::uint64_t count) {
  constexpr std::uint64_t most_items = 1024;
  if (count > most_items) return std::nullopt;
  std::vector<Item> items(count);
  std::ifstream memory(directory_of(process) / "mem", std::ios::binary);
  memory.seekg(static_cast<std::streamoff>(address));
  const auto bytes = static_cast<std::streamsize>(count * sizeof(Item));
  if (!memory.read(reinterpret_cast<char*>(items.data()), bytes)) return std::nullopt;
  return items;
}

std::optional<std::vector<int>> polled_by(pid_t process, const SleepingCall& call) {
  const auto entries = memory_of<pollfd>(process, call.arguments[0], call.arguments[1]);
  if (!entries) return std::nullopt;
  std::vector<int> polled;
  for (const pollfd& entry : *entries)
    if (entry.fd >= 0) polled.push_back(entry.fd);
  return polled;
}

std::optional<std::vector<int>> selected_by(pid_t process, const SleepingCall& call) {
  constexpr std::uint64_t bits = sizeof(long) * CHAR_BIT;
  std::vector<int> selected;
  for (const std::uint64_t address : {call.arguments[1], call.arguments[2], call.arguments[3]}) {
    if (address == 0) continue;
    const std::uint64_t words = (call.arguments[0] + bits - 1) / bits;
    const auto set = memory_of<unsigned long>(process, address, words);
    if (!set) return std::nullopt;
    for (std::uint64_t i = 0; i < call.arguments[0]; ++i)
      if ((((*set)[i / bits] >> (i % bits)) & 1U) != 0) selected.push_back(static_cast<int>(i));
  }
  return selected;
}

constexpr std::string_view of_socket = "socket:[";

bool is_socket(const Shared& thing) {
  return thing.name.starts_with(of_socket);
}

/// Files may be on servers that do not answer: the kernel tells what it knows.
bool is_named_pipe(const std::string& descriptor) {
  struct statx facts {};
  return ::statx(AT_FDCWD, descriptor.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &facts) == 0 &&
         S_ISFIFO(facts.stx_mode);
}

std::string name_of(pid_t process, int descriptor) {
  const std::string number = std::to_string(descriptor);
  std::string target = target_of(directory_of(process) / "fd" / number);
  if (target.find("[eventfd]") == std::string::npos) return target;
  const std::string id = fact_in(directory_of(process) / "fdinfo" / number, "eventfd-id:");
  return id.empty() ? id : "eventfd" + id;
}

Shared shared_thing(pid_t process, int descriptor) {
  Shared thing{name_of(process, descriptor)};
  if (is_socket(thing)) return thing;
  const std::string number = std::to_string(descriptor);
  const bool has_path = thing.name.starts_with('/');
  if (has_path && !is_named_pipe(directory_of(process) / "fd" / number)) return {};
  if (!has_path && !thing.name.starts_with("pipe:")) return {};
  constexpr int octal = 8;
  const std::string flags = fact_in(directory_of(process) / "fdinfo" / number, "flags:");
  thing.access = static_cast<int>(std::strtol(flags.c_str(), nullptr, octal)) & O_ACCMODE;
  return thing;
}

/// Whether others may open it at any time.
bool can_be_opened(const Shared& thing) {
  return thing.name.starts_with('/') && !thing.name.ends_with("(deleted)");
}

/// What wakes who waits at this end. Who has opened both ends of a pipe with a path expects others.
Shared other_end(const Shared& end) {
  if (is_socket(end)) {
    const auto number = std::strtoul(end.name.c_str() + of_socket.size(), nullptr, 10);
    const auto other = other_end_of(static_cast<std::uint32_t>(number));
    return other ? Shared{std::string(of_socket) + std::to_string(*other) + "]"} : Shared{};
  }
  if (end.access == O_RDWR) return can_be_opened(end) ? Shared{} : end;
  return {end.name, end.access == O_RDONLY ? O_WRONLY : O_RDONLY};
}

/// Whether this process, the matcher, has it open.
bool is_own(const std::string& name) {
  const pid_t own = ::getpid();
  return !name.empty() && std::ranges::any_of(numbers_in(directory_of(own) / "fd"),
                                              [&](int number) { return name_of(own, number) == name; });
}

/// Used when /proc hides the call: checks the kernel function in which the thread sleeps. What a poll waits
/// for is not known then.
bool sleeps_in_known_place(const std::filesystem::path& thread, bool is_waiting) {
  std::ifstream stream(thread / "syscall");
  std::string word;
  if (stream >> word) return false;  // the thread runs
  const std::string place = first_line(thread / "wchan");
  const auto is = [&](const char* name) { return place.find(name) != std::string::npos; };
  return is("futex") || is("do_wait") || (is_waiting && is("skb_wait_for_more_packets"));
}

}  // namespace

bool Sleepers::is_waiting(pid_t process) const {
  return std::ranges::find(waiting_, process) != waiting_.end();
}

bool Sleepers::waits_within_mpi(pid_t process) const {
  return is_waiting(process) && maps(process, "/libmpi");
}

bool Sleepers::sleeps_for_good(pid_t process, pid_t thread) {
  const std::filesystem::path directory = directory_of(process) / "task" / std::to_string(thread);
  const SleepingCall call = call_of(directory);
  const auto& arguments = call.arguments;
  constexpr std::uint64_t is_private = 128;  // FUTEX_PRIVATE_FLAG
  switch (call.number) {
    case -1:
      return sleeps_in_known_place(directory, is_waiting(process));
    case SYS_futex:
      return arguments[3] == 0 &&  // no time limit
             ((arguments[1] & is_private) != 0 || !may_wake_by_memory(process, arguments[0]));
#ifdef SYS_poll
    case SYS_poll:
      return is_endless(arguments[2], waits_within_mpi(process)) &&
             !may_any_wake(process, polled_by(process, call));
#endif
    case SYS_ppoll:
      return arguments[2] == 0 && !may_any_wake(process, polled_by(process, call));
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
      return arguments[4] == 0 && !may_any_wake(process, selected_by(process, call));
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
      return is_endless(arguments[3], waits_within_mpi(process)) &&
             !may_wake_in_set(process, static_cast<int>(arguments[0]), 0);
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_sendto:
    case SYS_sendmsg:
      return !may_wake_in_call(process, static_cast<int>(arguments[0]));
    case SYS_wait4:
    case SYS_waitid:
      return true;  // for children, which are members
    case SYS_recvmsg:
      return (is_waiting(process) && is_receiving_answer(arguments[2])) ||
             !may_wake_in_call(process, static_cast<int>(arguments[0]));
    default:
      return false;
  }
}

/// A word that others have, too, as that of a semaphore or a lock between processes. A file with a name may
/// be opened by others at any time.
bool Sleepers::may_wake_by_memory(pid_t process, std::uint64_t address) {
  for (const MappedRange& mapping : mapped_by(process)) {
    if (address < mapping.begin || address >= mapping.end) continue;
    if (!mapping.is_shared) return false;
    return !mapping.file.ends_with("(deleted)") || have_others_mapped(mapping.file);
  }
  return true;
}

/// Who polls nothing waits for a signal.
bool Sleepers::may_any_wake(pid_t process, const std::optional<std::vector<int>>& polled) {
  return !polled || polled->empty() ||
         std::ranges::any_of(*polled, [&](int descriptor) { return may_wake(process, descriptor); });
}

/// An MPI library waits for its own daemons and ranks all the time, by sockets and pipes.
bool Sleepers::may_wake(pid_t process, int descriptor, int depth) {
  const std::string kind = target_of(directory_of(process) / "fd" / std::to_string(descriptor));
  if (kind.empty()) return false;  // it was closed
  const auto is = [&](const char* word) { return kind.find(word) != std::string::npos; };
  if (is("[timerfd]")) {
    const auto facts = directory_of(process) / "fdinfo" / std::to_string(descriptor);
    return fact_in(facts, "it_value:").find("(0, 0)") == std::string::npos;
  }
  if (is("[eventpoll]")) return may_wake_in_set(process, descriptor, depth + 1);
  if (is("[eventfd]")) return may_wake_by_event(process, descriptor);
  if (is("[pidfd]")) {
    const auto facts = directory_of(process) / "fdinfo" / std::to_string(descriptor);
    return !members_.contains(std::atoi(fact_in(facts, "Pid:").c_str()));
  }
  if (is_waiting(process) && kind.starts_with(of_socket) &&
      is_own(other_end(shared_thing(process, descriptor)).name))
    return false;  // for an answer of the matcher, too
  const bool is_for_mpi = kind.starts_with("pipe:") || kind.starts_with(of_socket);
  return !(is_for_mpi && waits_within_mpi(process)) && may_wake_by_other_end(process, descriptor);
}

/// A set of epoll(7), which may be in another set.
bool Sleepers::may_wake_in_set(pid_t process, int set, int depth) {
  constexpr int most_sets = 4;
  std::ifstream facts(directory_of(process) / "fdinfo" / std::to_string(set));
  if (!facts || depth > most_sets) return true;
  for (std::string line; std::getline(facts, line);) {
    int descriptor = -1;
    if (std::sscanf(line.c_str(), "tfd: %d", &descriptor) == 1 && may_wake(process, descriptor, depth))
      return true;
  }
  return false;
}

/// The kernel tells by an eventfd, too, what it has read or written, or that a time has passed.
bool Sleepers::may_wake_by_event(pid_t process, int descriptor) {
  if (maps(process, "[io_uring]") || maps(process, "/[aio]")) return true;
  if (waits_within_mpi(process)) return false;
  const std::string event = name_of(process, descriptor);
  return event.empty() || have_others_open(event);
}

/// A call that reads or writes.
bool Sleepers::may_wake_in_call(pid_t process, int descriptor) {
  if (name_of(process, descriptor).starts_with("eventfd")) return may_wake_by_event(process, descriptor);
  const bool is_timed = is_socket(shared_thing(process, descriptor)) && has_time_limit(process, descriptor);
  return is_timed || may_wake_by_other_end(process, descriptor);
}

/// Processes of other users hide what they hold, so the other end must be seen.
bool Sleepers::may_wake_by_other_end(pid_t process, int descriptor) {
  const Shared end = shared_thing(process, descriptor);
  const Shared other = other_end(end);
  return other.name.empty() || have_others_open(end.name) || have_others_open(other.name) ||
         !do_members_hold(other);
}

/// Who holds both ends of a pipe with a path expects others.
bool Sleepers::do_members_hold(const Shared& end) {
  const auto holds = [&](pid_t process) {
    bool holds_it = false, holds_more = false;
    for (const int descriptor : numbers_in(directory_of(process) / "fd")) {
      if (name_of(process, descriptor) != end.name) continue;
      const int access = shared_thing(process, descriptor).access;
      (access == end.access || (access == O_RDWR && !can_be_opened(end)) ? holds_it : holds_more) = true;
    }
    return holds_it && !(holds_more && can_be_opened(end));
  };
  return std::ranges::any_of(members_, holds);
}

/// Descriptors of other users are hidden, and theirs.
bool Sleepers::have_others_open(const std::string& thing) {
  if (!opened_by_others_) {
    opened_by_others_.emplace();
    for (const pid_t process : numbers_in(processes_directory())) {
      if (members_.contains(process)) continue;
      for (const int descriptor : numbers_in(directory_of(process) / "fd"))
        opened_by_others_->insert(name_of(process, descriptor));
    }
  }
  return opened_by_others_->contains(thing);
}

bool Sleepers::have_others_mapped(const std::string& file) {
  if (!mapped_by_others_) {
    mapped_by_others_.emplace();
    for (const pid_t process : numbers_in(processes_directory())) {
      if (members_.contains(process)) continue;
      for (MappedRange& mapping : mapped_by(process))
        if (mapping.is_shared) mapped_by_others_->insert(std::move(mapping.file));
    }
  }
  return mapped_by_others_->contains(file);
}

}  // namespace sluice::runtime
