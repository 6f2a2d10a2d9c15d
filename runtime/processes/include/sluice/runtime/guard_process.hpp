#pragma once
#include <sys/types.h>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Ignores signals that would end the process and that mean nothing to a run: those of timers, limits and
/// pipes, and real-time signals. Programs that it starts would ignore them, too: restore_idle_signals().
void ignore_idle_signals() noexcept;
/// Between fork and exec.
void restore_idle_signals() noexcept;

/// For processes that end when the coordinator says so, or has ended: matchers and guards.
void ignore_signals_of_users() noexcept;

/// Turns the caller into a guard: a process that cleans up after another process. Guards are the
/// coordinator's guardian and the caretakers of other nodes. A pipe between the two processes tells the guard
/// whether the other ended in order. The call sets the guard's name and ignores the signals that end a run.
void begin_to_guard(const char* name) noexcept;

/// Called by the guard: waits. Returns true when the guard was dismissed, false when the other process is
/// gone.
[[nodiscard]] bool await_dismissal(int line) noexcept;

/// Called by the other process when it ends in order: closes the line and waits for the guard's end.
void dismiss(FileDescriptor& line, pid_t guard) noexcept;

}  // namespace sluice::runtime
