#include "sluice/replay/copy_threads.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice::replay {
namespace {

/// Starting a thread takes as long as copying some hundred KiB.
constexpr std::uint64_t least_bytes_of_a_thread = std::uint64_t{2} << 20;

/// While it lives, new threads leave the program's signals to the program's threads. A fault must still reach
/// who made it.
class SignalsHeld {
 public:
  SignalsHeld() noexcept {
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&signals, fault);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

/// The number of running and ready threads of the machine: "0.20 0.18 0.12 RUNNING/ALL LAST". Returns nothing
/// sensible but many if the system does not tell.
int count_running() noexcept {
  constexpr int many = 1 << 20;
  const int file = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return many;
  std::array<char, 128> buffer{};
  const ssize_t bytes = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  const std::string_view text(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return many;
  const std::size_t space = text.rfind(' ', slash);
  if (space == std::string_view::npos) return many;
  int running = many;
  std::from_chars(text.data() + space + 1, text.data() + slash, running);
  return running;
}

}  // namespace

int threads_for(std::uint64_t bytes, int most, int idle_processors) noexcept {
  const auto by_size = static_cast<int>(
      std::min<std::uint64_t>(bytes / least_bytes_of_a_thread, static_cast<std::uint64_t>(most)));
  return std::max(1, std::min(by_size, idle_processors + 1));
}

int count_idle_processors() noexcept {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return 0;
  const auto all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp(all - count_running(), 0, std::max(CPU_COUNT(&usable) - 1, 0));
}

void run_at_once(int parts, const std::function<void(int)>& part) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(parts));
  const auto run = [&](int number) {
    try {
      part(number);
    } catch (...) {
      failures[static_cast<std::size_t>(number)] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(parts));
  int started = 1;
  {
    const SignalsHeld held;
    try {
      for (; started < parts; ++started) threads.emplace_back(run, started);
    } catch (const std::system_error&) {
      // The rest is done below.
    }
  }
  run(0);
  for (; started < parts; ++started) run(started);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace sluice::replay
