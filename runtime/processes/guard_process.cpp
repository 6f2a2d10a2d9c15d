#include "sluice/runtime/guard_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace sluice::runtime {
namespace {

constexpr char dismissal = 'q';

void set_idle_signals(void (*handler)(int)) noexcept {
  for (const int signal : {SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGPIPE, SIGIO, SIGSTKFLT})
    ::signal(signal, handler);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ::signal(signal, handler);
}

}  // namespace

void ignore_idle_signals() noexcept {
  set_idle_signals(SIG_IGN);
}

void restore_idle_signals() noexcept {
  set_idle_signals(SIG_DFL);
}

void ignore_signals_of_users() noexcept {
  ignore_idle_signals();
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPWR})
    ::signal(signal, SIG_IGN);
}

void begin_to_guard(const char* name) noexcept {
  ignore_signals_of_users();
  ::prctl(PR_SET_NAME, name);
  ::setsid();
}

bool await_dismissal(int line) noexcept {
  char word = 0;
  ssize_t got = 0;
  do {
    got = ::read(line, &word, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 && word == dismissal;
}

void dismiss(FileDescriptor& line, pid_t guard) noexcept {
  (void)!::write(line.number(), &dismissal, 1);
  line.reset();
  while (::waitpid(guard, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace sluice::runtime
