#include "restart_wait.hpp"

#include <utility>

namespace sluice::coordinator {

RestartWait::RestartWait(boost::asio::io_context& loop, std::chrono::milliseconds delay,
                         std::function<void()> on_over)
    : delay_(loop, delay), on_over_(std::move(on_over)) {
  delay_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    is_delay_over_ = true;
    go_on();
  });
}

void RestartWait::matcher_agrees() {
  does_matcher_agree_ = true;
  go_on();
}

void RestartWait::go_on() {
  if (!is_delay_over_ || !does_matcher_agree_) return;
  const auto on_over = std::move(on_over_);  // it may end this object
  on_over();
}

}  // namespace sluice::coordinator
