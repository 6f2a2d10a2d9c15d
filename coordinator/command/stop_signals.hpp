#pragma once
#include <string>

namespace sluice::coordinator {

/// Thrown where work ends because of a signal.
struct Interrupted {
  int signal = 0;
};

/// From now on SIGINT, SIGTERM and SIGHUP are noted and do not end the process.
void catch_stop_signals();

/// Throws Interrupted if a signal has been noted.
void check_stop_signals();

/// Prints the end of a command by a signal. Returns the exit status, 128 + signal.
[[nodiscard]] int status_of_interruption(const Interrupted& interrupted, const std::string& command,
                                         const std::string& what);

}  // namespace sluice::coordinator
