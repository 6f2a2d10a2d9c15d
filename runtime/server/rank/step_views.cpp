#include "step_views.hpp"

#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

void StepViews::with_view(matcher::StepId step, std::uint64_t connection, ViewReceiver receiver) {
  const CachedStep* const known = steps_.find(step);
  if (known != nullptr && known->view->is_final) return receiver({}, known->view);
  query(step, connection, std::move(receiver));
}

void StepViews::query(matcher::StepId step, std::uint64_t connection, ViewReceiver receiver) {
  if (next_query_ == 0) next_query_ = 1;  // 0 is for views that nobody has asked for
  const ViewQuery query{connection, next_query_++, step};
  waiting_.insert_or_assign(query.query, std::move(receiver));
  tree_.send_up(query);
}

CachedStep* StepViews::store(View& answer) {
  return answer.view ? &steps_.take(std::move(*answer.view)) : nullptr;
}

void StepViews::settle(const View& answer) {
  const auto waiting = waiting_.extract(answer.query);
  if (waiting.empty()) return;
  if (answer.refusal) return waiting.mapped()({answer.refusal->status, answer.refusal->text}, nullptr);
  const CachedStep* const known = steps_.find(answer.step);
  if (known != nullptr) return waiting.mapped()({}, known->view);
  waiting.mapped()({NC_EBADID, "step " + std::to_string(answer.step) + " has ended"}, nullptr);
}

}  // namespace sluice::runtime
