#include "exit_status.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace sluice::coordinator {

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string ProcessEnd::describe() const {
  if (by_signal) return "was killed by signal " + std::to_string(number) + " (" + signal_name(number) + ")";
  return "exited with status " + std::to_string(number);
}

ProcessEnd end_of_process(int wait_status, bool is_launcher) {
  if (WIFSIGNALED(wait_status)) return {true, WTERMSIG(wait_status)};
  const int status = WEXITSTATUS(wait_status);
  constexpr int first_beyond = 128;
  const int signal = status - first_beyond;
  if (is_launcher && signal > 0 && ::sigabbrev_np(signal) != nullptr) return {true, signal};
  return {false, status};
}

}  // namespace sluice::coordinator
