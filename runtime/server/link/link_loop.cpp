#include "link_loop.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace sluice::runtime {

namespace {

using std::chrono::microseconds;

/// After a packet, more packets are likely within a moment.
constexpr int yields_before_sleep = 16;
constexpr microseconds shortest_sleep{50};

}  // namespace

LinkLoop::LinkLoop(boost::asio::io_context& loop, PeerLink& link, Options options, std::function<bool()> turn)
    : loop_(loop),
      link_(link),
      options_(std::move(options)),
      turn_(std::move(turn)),
      bell_watch_(loop),
      idle_timer_(loop) {}

LinkLoop::~LinkLoop() {
  if (bell_watch_.is_open()) bell_watch_.release();
}

/// Calls `run` until it ends without an exception.
template <class Run>
auto LinkLoop::survive(const Run& run) -> decltype(run()) {
  for (;;) {
    try {
      return run();
    } catch (const std::exception& error) {
      options_.failed(error);
    }
  }
}

void LinkLoop::run(const std::function<bool()>& is_over) {
  if (options_.bell) bell_watch_.assign(options_.bell->descriptor()), watch_bell();
  int quiet_turns = 0;
  auto sleep = shortest_sleep;
  while (!loop_.stopped()) {
    const bool has_happened = survive([this] { return loop_.poll(); }) > 0;
    const bool has_moved = survive(turn_);
    if (is_over()) break;
    if (has_happened || has_moved) quiet_turns = 0, sleep = shortest_sleep;
    if (++quiet_turns <= yields_before_sleep) {
      ::sched_yield();
      continue;
    }
    idle_timer_.expires_after(sleep);
    idle_timer_.async_wait([](const boost::system::error_code&) {});
    survive([this] { return loop_.run_one(); });
    idle_timer_.cancel();
    const bool is_busy = !link_.is_idle() || link_.is_expecting();
    sleep = std::min(2 * sleep, is_busy ? 4 * shortest_sleep : options_.longest_sleep);
  }
}

void LinkLoop::run_while(const std::function<bool()>& condition) {
  while (condition()) {
    if (!survive(turn_)) ::sched_yield();
  }
}

void LinkLoop::watch_bell() {
  bell_watch_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           options_.bell->quiet();
                           watch_bell();
                         });
}

}  // namespace sluice::runtime
