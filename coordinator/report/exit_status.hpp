#pragma once
#include <chrono>
#include <string>

namespace sluice::coordinator {

/// Exit statuses of `sluice` itself (design §12).
inline constexpr int status_ok = 0;
inline constexpr int status_mistake = 2;          ///< a mistake in the command line or the workflow
inline constexpr int status_runtime_failure = 3;  ///< a failure of the runtime, not of a component
/// The run was stopped ahead of a time limit, and can be resumed (EX_TEMPFAIL of sysexits.h).
inline constexpr int status_stopped = 75;

/// How a process ended.
struct ProcessEnd {
  bool by_signal = false;
  int number = 0;  ///< the signal, or the exit status
  /// Its own, and that of all that it has waited for, as a launcher for the ranks of its machine.
  std::chrono::milliseconds processor_time{};

  [[nodiscard]] bool failed() const noexcept { return by_signal || number != 0; }
  /// The status that a shell reports: the exit status, or 128 + signal.
  [[nodiscard]] int shell_status() const noexcept { return by_signal ? 128 + number : number; }
  /// "exited with status 1", "was killed by signal 11 (SIGSEGV)".
  [[nodiscard]] std::string describe() const;
};

/// Decodes the status from waitpid(). A launcher reports a rank that a signal killed by the exit status 128 +
/// signal; this function reports that status as the signal.
[[nodiscard]] ProcessEnd end_of_process(int wait_status, bool is_launcher);

/// "SIGSEGV"; "signal 42" for a signal without a name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace sluice::coordinator
