#include "known_steps.hpp"

#include <utility>

namespace sluice::runtime {

KnownStep* KnownSteps::find(std::uint64_t step) {
  const auto found = steps_.find(step);
  return found == steps_.end() ? nullptr : &found->second;
}

KnownStep& KnownSteps::take(matcher::StepView view) {
  KnownStep& known = steps_[view.step];
  if (known.view != nullptr && view.header_revision == known.view->header_revision) {
    view.header = known.view->header;
  } else {
    known.index.reset();
  }
  known.view = std::make_shared<const matcher::StepView>(std::move(view));
  return known;
}

}  // namespace sluice::runtime
