#include "process_looks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "idle_processes.hpp"

namespace sluice::runtime {

void ProcessLooks::take(const Look& look) {
  if (look.request.number == 0) return tell_of_itself();
  constexpr std::chrono::milliseconds first_pause{1};
  look_at(look.request, first_pause);
}

/// Answers whether any process may act. A process that has just made a request is still falling asleep, so it
/// is looked at again before it counts as able.
void ProcessLooks::look_at(const matcher::LookRequest& request, std::chrono::milliseconds pause) {
  constexpr std::chrono::milliseconds longest_pause{256};
  const std::vector<pid_t> processes(request.processes.begin(), request.processes.end());
  const bool is_everybody_idle = request.component.empty() ? std::ranges::all_of(processes, is_idle)
                                                           : is_component_idle(run_mark_, request.component,
                                                                               processes, request.has_ended);
  const bool is_nobody_able = is_everybody_idle && !clients_.is_somebody_connecting();
  if (!is_nobody_able && pause <= longest_pause) {
    // shared with its own handler, which may be its last user
    const auto timer = std::make_shared<boost::asio::steady_timer>(base_.loop, pause);
    timer->async_wait([this, request, pause, timer](const boost::system::error_code& error) {
      if (!error) look_at(request, 4 * pause);
    });
    return;
  }
  if (is_nobody_able) return tell_idle(request);
  base_.tree.send_up(Looked{request.number, false});
}

/// What the processes have sent or posted before they fell asleep comes first: it may end the wait. Later:
/// the registry may be in the middle of something.
void ProcessLooks::tell_idle(const matcher::LookRequest& request) {
  boost::asio::post(base_.loop, [this, request] {
    clients_.take_sent(request.processes);
    clients_.end_troubled();
    base_.tree.send_up(Looked{request.number, true});
  });
}

void ProcessLooks::tell_of_itself() const {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  base_.tree.send_up(Looked{0, false, host.data(), ::getpid()});
}

}  // namespace sluice::runtime
