#pragma once
#include <csignal>

namespace sluice::files {

/// This library works for the thread.
extern constinit thread_local bool is_inside __attribute__((tls_model("initial-exec")));

/// Whether a signal handler of the program has interrupted this thread: then a call must not use what that
/// may have interrupted, as MPI or memory of the C library. One that leaves its signal unblocked is not seen.
[[nodiscard]] bool is_in_handler() noexcept;

/// Whether a call is this library's own, which is not for it to look at, or that of a library which works for
/// it.
[[nodiscard]] bool is_own_call() noexcept;

/// No handler of the program runs in this thread meanwhile, other than for faults. So a handler never finds
/// this library's locks and memory in the middle of a change, and may call whatever is wrapped.
class HeldSignals {
 public:
  HeldSignals() noexcept;
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  bool is_outermost_;
  sigset_t before_{};
};

/// Within HeldSignals: the program's handlers may run.
class LetSignals {
 public:
  LetSignals() noexcept;
  ~LetSignals();
  LetSignals(const LetSignals&) = delete;
  LetSignals& operator=(const LetSignals&) = delete;

 private:
  const sigset_t* held_;
};

/// These wait until a socket has a message, or space for one, or has failed. Meanwhile the program's handlers
/// run, and what they call is wrapped: so this thread must not hold a lock. False: there was none for
/// `limit_ms` (0: no limit).
bool await_message(int socket, int limit_ms = 0) noexcept;
void await_space(int socket) noexcept;

}  // namespace sluice::files
