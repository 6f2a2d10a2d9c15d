#include "gets.hpp"

#include <string>
#include <utility>
#include <vector>

#include "get_answer.hpp"
#include "shared_gets.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

void Gets::begin(Client& client, std::uint32_t tag, Get request) {
  const matcher::StepId step = request.step;
  if (!client.process->has_open(step)) {
    return parts_.clients.send_error(client, tag, NC_EBADID,
                                     client.name() + " does not have step " + std::to_string(step) + " open");
  }
  continue_get({client.id, tag, std::move(request)});
}

void Gets::continue_get(WaitingGet waiting) {
  if (shared_ != nullptr) return shared_->begin(std::move(waiting));
  const matcher::StepId step = waiting.request.step;
  const CachedStep* const known = parts_.views.find(step);
  // Before the view arrives, because the view names the present request tables.
  if (known != nullptr && known->may_wait(waiting.request.is_by_writer)) parts_.deferred.await_puts(step);
  const ClientId id = waiting.client;
  parts_.views.with_view(
      step, id, [this, waiting = std::move(waiting)](const Outcome& outcome, const StepViewPointer&) mutable {
        Client* const receiver = parts_.clients.find(waiting.client);
        if (receiver == nullptr) return;
        Outcome end = outcome;
        try {
          if (!end.is_failure()) answer(*receiver, waiting);
        } catch (const Error& error) {
          end = {error.status(), error.what()};
        }
        if (!end.is_failure()) return;
        parts_.deferred.release(waiting);
        parts_.clients.send_error(*receiver, waiting.tag, end.status, end.text);
      });
}

void Gets::answer(Client& client, WaitingGet& waiting) {
  const Get& request = waiting.request;
  CachedStep* const known = parts_.views.find(request.step);
  if (known == nullptr) throw Error(NC_EBADID, "step " + std::to_string(request.step) + " has ended");
  const matcher::StepView& view = *known->view;
  SegmentStore& store = parts_.base.store;
  matcher::StepIndex& index = known->index_for(store, request);
  if (known->may_wait(request.is_by_writer)) {
    const int varid = unwritten_variable(index, request);
    if (varid >= 0) return parts_.deferred.hold(std::move(waiting), varid);
    if (!parts_.deferred.has(request.step) && view.control != 0) store.set_awaited(view.control, false);
  }
  parts_.deferred.release(waiting);
  Plans answer = answer_get(index, request, client.told[request.step]);
  answer.record_count = known->record_count();
  if (view.is_final) parts_.history.note_logs(client.process->id, {view.rule, view.pattern}, answer.ranges);
  std::vector<matcher::SegmentId> segments;
  for (const LogRange& range : answer.ranges) segments.push_back(range.segment);
  parts_.segments.send_with(client, segments, MessageType::plans, waiting.tag, encode(answer));
}

void Gets::take(View& answer) {
  CachedStep* const news = parts_.views.store(answer);
  if (news != nullptr && shared_ != nullptr) shared_->fetch_ahead(*news);
  if (answer.query == 0) return parts_.deferred.retry(answer.step);
  parts_.views.settle(answer);
}

void Gets::take(const StepOver& erased) {
  parts_.views.forget(erased.step);
  if (shared_ != nullptr) shared_->forget(erased.step);
}

}  // namespace sluice::runtime
