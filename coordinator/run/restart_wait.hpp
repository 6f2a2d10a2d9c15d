#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

namespace sluice::coordinator {

/// The time between a component's failure and its next start: until the delay is over, and the matcher has
/// forgotten the processes of the last start.
class RestartWait {
 public:
  /// Calls `on_over` once, from the loop, unless this object ends before. `on_over` may end it.
  RestartWait(boost::asio::io_context& loop, std::chrono::milliseconds delay, std::function<void()> on_over);
  void matcher_agrees();

 private:
  void go_on();

  boost::asio::steady_timer delay_;
  std::function<void()> on_over_;
  bool is_delay_over_ = false;
  bool does_matcher_agree_ = false;
};

}  // namespace sluice::coordinator
