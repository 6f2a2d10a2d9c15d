#include "close_fence.hpp"

#include <utility>

namespace sluice::runtime {

void CloseFence::pass(const TakeSent& what, Work then) {
  const auto round = rounds_.find(what);
  round != rounds_.end() ? round->second.push_back(std::move(then)) : begin(what, {std::move(then)});
}

/// A close that is made now may come too late for the round, so who asks later needs another one.
void CloseFence::begin(const TakeSent& what, std::vector<Work> work) {
  rounds_[what] = {};
  outlet_.take_sent(what, [this, what, work = std::move(work)] {
    auto waiting = std::move(rounds_.extract(what).mapped());
    if (!waiting.empty()) begin(what, std::move(waiting));
    for (const Work& then : work) then();
  });
}

}  // namespace sluice::runtime
