// Gets that wait until what they read is put: docs/architecture.md, "Reading what is being written".
#include <string>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

/// The writers of the step tell of the next put. To be called before the request tables are looked at: what
/// is put behind that look is told.
void MatcherRank::Server::await_puts(matcher::StepId step) {
  const KnownStep* const known = known_steps_.find(step);
  if (known != nullptr && known->view->control != 0) store_.set_awaited(known->view->control, true);
}

/// Until the writers tell of a put, or the step ends. The registry knows of it, and may refuse it: then it is
/// forgotten by forget_held_get().
void MatcherRank::Server::hold_get(WaitingGet& waiting, int varid) {
  const matcher::StepId step = waiting.request.step;
  const bool is_known = std::exchange(waiting.is_held, true);
  RelayItem notice;
  notice.kind = RelayItemKind::get_waits;
  notice.connection = waiting.client;
  notice.tag = waiting.tag;
  notice.number = step;
  held_gets_[step].push_back(std::move(waiting));
  if (is_known) return;
  const matcher::StepView& view = *known_steps_.find(step)->view;
  notice.text = "'" + view.name + "' (variable " +
                formats::decode_metadata(view.header, view.name).variable(varid).name + ")";
  tree_.send_up(std::move(notice));
}

/// Something was put, or the step has ended: all of them are tried again, with a new view.
void MatcherRank::Server::retry_gets(matcher::StepId step) {
  auto held = held_gets_.extract(step);
  if (held.empty()) return;
  for (WaitingGet& waiting : held.mapped()) {
    if (find(waiting.client) != nullptr) continue_get(std::move(waiting));
  }
}

/// It is answered now, if it was held.
void MatcherRank::Server::release_get(WaitingGet& waiting) {
  if (!std::exchange(waiting.is_held, false)) return;
  RelayItem notice;
  notice.kind = RelayItemKind::get_goes_on;
  notice.connection = waiting.client;
  notice.tag = waiting.tag;
  tree_.send_up(std::move(notice));
}

void MatcherRank::Server::forget_held_get(ClientId client, std::uint32_t tag) {
  for (auto& [step, held] : held_gets_) {
    held.remove_if([&](const WaitingGet& waiting) { return waiting.client == client && waiting.tag == tag; });
  }
  std::erase_if(held_gets_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace sluice::runtime
