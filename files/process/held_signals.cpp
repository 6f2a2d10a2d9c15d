#include "sluice/files/held_signals.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cerrno>

namespace sluice::files {

namespace {

/// The program's mask, while its signals are held; null: they are not.
constinit thread_local const sigset_t* program_mask __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

constinit thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

HeldSignals::HeldSignals() noexcept : is_outermost_(program_mask == nullptr) {
  if (!is_outermost_) return;
  sigset_t held;
  (void)::sigfillset(&held);
  // A fault that is held would end the program. Some programs live by them.
  constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  for (const int fault : faults) (void)::sigdelset(&held, fault);
  (void)::pthread_sigmask(SIG_BLOCK, &held, &before_);
  program_mask = &before_;
}

HeldSignals::~HeldSignals() {
  if (!is_outermost_) return;
  program_mask = nullptr;
  (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

LetSignals::LetSignals() noexcept : held_(program_mask) {
  if (held_ == nullptr) return;
  program_mask = nullptr;
  (void)::pthread_sigmask(SIG_SETMASK, held_, nullptr);
}

LetSignals::~LetSignals() {
  if (held_ == nullptr) return;
  sigset_t all;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  program_mask = held_;
}

namespace {

/// Whether it blocks a signal that has a handler, as a rule because that runs.
bool blocks_handled(const sigset_t& mask) noexcept {
  if (::sigisemptyset(&mask) != 0) return false;
  const auto is_handled = [&](int signal) {
    struct sigaction action {};
    return ::sigismember(&mask, signal) == 1 && ::sigaction(signal, nullptr, &action) == 0 &&
           action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
  };
  for (int signal = 1; signal < NSIG; ++signal)
    if (is_handled(signal)) return true;
  return false;
}

/// Whether the kernel has put a frame for a handler on the stack.
bool has_signal_frame() noexcept {
  bool has_it = false;
  const auto look = [](_Unwind_Context* frame, void* result) {
    int is_interrupted = 0;
    (void)::_Unwind_GetIPInfo(frame, &is_interrupted);
    if (is_interrupted == 0) return _URC_NO_REASON;
    *static_cast<bool*>(result) = true;
    return _URC_NORMAL_STOP;
  };
  (void)::_Unwind_Backtrace(look, &has_it);
  return has_it;
}

}  // namespace

bool is_in_handler() noexcept {
  sigset_t mask;
  if (program_mask == nullptr) (void)::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return blocks_handled(program_mask == nullptr ? mask : *program_mask) && has_signal_frame();
}

bool is_own_call() noexcept {
  const bool lets_signals = is_inside && program_mask == nullptr;
  return is_inside && !(lets_signals && is_in_handler());
}

namespace {

/// `wait(mask)` returns -1 and EINTR where a handler has run.
template <class Wait>
void wait_without_holding(const Wait& wait) noexcept {
  const sigset_t* const held = program_mask;
  if (held == nullptr) return;  // the call that follows waits itself
  const bool was_inside = is_inside;
  program_mask = nullptr;
  is_inside = false;
  while (wait(*held) < 0 && errno == EINTR) {
  }
  is_inside = was_inside;
  program_mask = held;
}

}  // namespace

/// The matcher knows a process that waits for it by this call (runtime/processes/idle_processes).
bool await_message(int socket, int limit_ms) noexcept {
  const auto limit = [&](int time_ms) {
    const timeval time{time_ms / 1000, time_ms % 1000 * 1000};
    if (limit_ms > 0) (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  };
  bool is_over = false;
  limit(limit_ms);
  wait_without_holding([&](const sigset_t& mask) {
    char first = 0;
    iovec data{&first, 1};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    sigset_t all;
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    const auto got = ::recvmsg(socket, &header, MSG_PEEK | MSG_CMSG_CLOEXEC);
    const int trouble = errno;
    (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    is_over = got < 0 && trouble == EAGAIN;
    errno = trouble;
    return got;
  });
  limit(0);
  return !is_over;
}

void await_space(int socket) noexcept {
  wait_without_holding([&](const sigset_t& mask) {
    pollfd space{socket, POLLOUT, 0};
    return ::ppoll(&space, 1, nullptr, &mask);
  });
}

}  // namespace sluice::files
