#include "stop_signals.hpp"

#include <atomic>
#include <csignal>
#include <iostream>

#include "exit_status.hpp"

namespace sluice::coordinator {
namespace {

/// The signal that requests the end, or 0. It is global because a signal handler has no other access.
std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_stop_signal(int signal) {
  stop_signal = signal;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = note_stop_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPWR}) ::sigaction(signal, &action, nullptr);
}

void check_stop_signals() {
  if (const int signal = stop_signal; signal != 0) throw Interrupted{signal};
}

int status_of_interruption(const Interrupted& interrupted, const std::string& command,
                           const std::string& what) {
  std::cerr << command << ": " << signal_name(interrupted.signal) << ": " << what << '\n';
  return 128 + interrupted.signal;
}

}  // namespace sluice::coordinator
