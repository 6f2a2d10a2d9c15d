#include "deferred_gets.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/cdf.hpp"

namespace sluice::runtime {

void DeferredGets::await_puts(matcher::StepId step) {
  const CachedStep* const known = views_.find(step);
  if (known != nullptr && known->view->control != 0) base_.store.set_awaited(known->view->control, true);
}

void DeferredGets::hold(WaitingGet waiting, int varid) {
  const matcher::StepId step = waiting.request.step;
  const bool is_known = std::exchange(waiting.is_held, true);
  GetWaits notice{waiting.client, waiting.tag, step, {}};
  held_[step].push_back(std::move(waiting));
  if (is_known) return;
  const matcher::StepView& view = *views_.find(step)->view;
  notice.text = "'" + view.name + "' (variable " +
                formats::decode_metadata(view.header, view.name).variable(varid).name + ")";
  base_.tree.send_up(std::move(notice));
}

void DeferredGets::hold_and_ask(WaitingGet waiting, int varid) {
  constexpr std::chrono::milliseconds longest_pause{32};
  const bool is_first = held_.empty();
  hold(std::move(waiting), varid);
  if (!is_first) return;
  retry_timer_.expires_after(retry_pause_);
  retry_pause_ = std::min(2 * retry_pause_, longest_pause);
  retry_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    std::vector<matcher::StepId> steps;
    for (const auto& [step, held] : held_) steps.push_back(step);
    for (const matcher::StepId step : steps) retry(step);
  });
}

void DeferredGets::retry(matcher::StepId step) {
  auto held = held_.extract(step);
  if (held.empty()) return;
  for (WaitingGet& waiting : held.mapped()) {
    if (clients_.find(waiting.client) != nullptr) gets_.continue_get(std::move(waiting));
  }
}

void DeferredGets::release(WaitingGet& waiting) {
  if (!std::exchange(waiting.is_held, false)) return;
  retry_pause_ = least_pause;
  base_.tree.send_up(GetWaits{waiting.client, waiting.tag, 0, {}, true});
}

void DeferredGets::forget(ClientId client, std::uint32_t tag) {
  for (auto& [step, held] : held_) {
    held.remove_if([&](const WaitingGet& waiting) { return waiting.client == client && waiting.tag == tag; });
  }
  std::erase_if(held_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace sluice::runtime
