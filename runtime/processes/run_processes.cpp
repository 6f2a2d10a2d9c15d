#include "sluice/runtime/run_processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sluice::runtime {
namespace {

constexpr std::chrono::seconds time_to_stop{5};
constexpr std::chrono::milliseconds poll_interval{50};

/// Each variable with a zero byte before and behind it; `process`: its directory in /proc.
std::string environment_of(const std::filesystem::path& process) {
  return '\0' + text_of_process_file(process / "environ");
}

bool has_variable(const std::string& environment, const std::string& assignment) {
  return environment.find('\0' + assignment + '\0') != std::string::npos;
}

}  // namespace

/// Takes no memory of the C library, as a stream would: a client may ask in a signal handler. A process that
/// ends between open and read is an error of the read.
std::string text_of_process_file(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  constexpr std::size_t part_bytes = 4096;
  std::array<char, part_bytes> part{};
  for (;;) {
    const ssize_t got = ::read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

char process_state(const std::string& directory) {
  const std::string facts = text_of_process_file(directory + "/stat");
  const std::size_t name_end = facts.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= facts.size() ? '\0' : facts[name_end + 2];
}

namespace {
/// `directory`: of a thread or a process, below /proc.
bool has_running_thread(const std::string& directory) {
  const std::string text = text_of_process_file(directory + "/stat");
  const std::size_t behind_name = text.rfind(')');
  if (behind_name == std::string::npos) return false;
  constexpr unsigned long is_exiting = 4;  // PF_EXITING
  std::array<char, 2> state{};
  unsigned long flags = 0;
  if (std::sscanf(text.c_str() + behind_name, ") %1s %*d %*d %*d %*d %*d %lu", state.data(), &flags) != 2)
    return false;
  return state[0] != 'Z' && state[0] != 'X' && (flags & is_exiting) == 0;
}
}  // namespace

bool is_going_on(std::uint32_t process) {
  const std::string directory = "/proc/" + std::to_string(process);
  if (has_running_thread(directory)) return true;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory + "/task", error), end; !error && entry != end;
       entry.increment(error))
    if (has_running_thread(entry->path().string())) return true;
  return false;
}

std::string run_mark(const std::string& socket) {
  return "SLUICE_SOCKET=" + socket;
}

std::string matcher_mark(const std::string& socket) {
  return "SLUICE_MATCHER_OF=" + socket;
}

std::string launcher_mark(const std::string& socket) {
  return std::string(launcher_variable) + '=' + socket;
}

std::vector<pid_t> processes_with_environment(const std::string& assignment) {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t process = 0;
    const auto [rest, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (problem != std::errc() || rest != name.data() + name.size() || process == ::getpid()) continue;
    if (has_variable(environment_of(entry->path()), assignment)) found.push_back(process);
  }
  return found;
}

namespace {

/// The number that the last process or thread of this machine got; 0: unknown.
pid_t newest_process() {
  const std::string text = text_of_process_file("/proc/loadavg");
  return std::atoi(text.c_str() + text.rfind(' ') + 1);
}

/// Threads have directories in /proc, too, but are not listed there.
bool is_first_thread(const std::string& process) {
  const std::string status = text_of_process_file("/proc/" + process + "/status");
  return status.find("\nTgid:\t" + process + '\n') != std::string::npos;
}

}  // namespace

/// A look at all processes takes milliseconds.
std::vector<pid_t> younger_processes_with_environment(pid_t than, const std::string& assignment) {
  constexpr pid_t most_looks = 500;
  const pid_t newest = newest_process();
  if (newest < than || newest - than > most_looks) return processes_with_environment(assignment);
  std::vector<pid_t> found;
  for (pid_t process = than + 1; process <= newest; ++process) {
    const std::string number = std::to_string(process);
    if (has_variable(environment_of("/proc/" + number), assignment) && is_first_thread(number))
      found.push_back(process);
  }
  return found;
}

bool is_child_of_run() {
  const char* const socket = std::getenv("SLUICE_SOCKET");
  if (socket == nullptr) return false;
  const std::string variables = environment_of("/proc/" + std::to_string(::getppid()));
  const bool is_of_component =
      variables.find(std::string(1, '\0') + "SLUICE_COMPONENT=") != std::string::npos;
  return is_of_component && has_variable(variables, run_mark(socket));
}

namespace {

/// In a lock: by the name of the kernel's function in which its first thread waits.
bool waits_for_lock(pid_t process) {
  std::string function;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/wchan"), function);
  return function.starts_with("futex");
}

}  // namespace

bool is_launcher_done(pid_t process) {
  const std::filesystem::path threads = "/proc/" + std::to_string(process) + "/task";
  bool has_children = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(threads, error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream children(entry->path() / "children");
    for (pid_t child = 0; children >> child;) {
      has_children = true;
      if (process_state("/proc/" + std::to_string(child)) != 'Z' ||
          is_going_on(static_cast<std::uint32_t>(child)))
        return false;
    }
  }
  return !error && (has_children || waits_for_lock(process));
}

namespace {

/// The processes with the mark that have not ended after that time.
std::vector<pid_t> left_after(const std::string& mark, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::vector<pid_t> processes = processes_with_environment(mark);
  while (!processes.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(poll_interval);
    processes = processes_with_environment(mark);
  }
  return processes;
}

}  // namespace

void stop_processes(const std::string& mark) {
  const std::vector<pid_t> processes = processes_with_environment(mark);
  for (const pid_t process : processes) ::kill(process, SIGTERM);
  for (const pid_t process : left_after(mark, time_to_stop)) ::kill(process, SIGKILL);
}

void end_launchers(const std::string& mark) {
  for (const pid_t process : left_after(mark, time_to_stop))
    if (is_launcher_done(process)) ::kill(process, SIGKILL);
}

}  // namespace sluice::runtime
