#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_index.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::runtime {

/// What the registry tells of a step; shared by all that work on it.
using StepViewPointer = std::shared_ptr<const matcher::StepView>;

/// A step as a matcher that answers gets knows it.
struct KnownStep {
  StepViewPointer view;
  /// Where there is one matcher only: made at the first get; of the header of this view.
  std::unique_ptr<matcher::StepIndex> index;
  std::unique_ptr<matcher::TableScan> scan;  ///< of this node's tables, while the step grows
  bool was_seen_published = false;
  bool was_fetched_ahead = false;
};

/// The steps that processes of this matcher have open or that this matcher works on for others, as the
/// registry has told of them last.
class KnownSteps {
 public:
  /// What is known already; nothing when it is not known yet.
  [[nodiscard]] KnownStep* find(std::uint64_t step);
  /// Takes what the registry tells. The header is kept where its revision has not changed: it need not come
  /// again.
  KnownStep& take(matcher::StepView view);
  void forget(std::uint64_t step) { steps_.erase(step); }

 private:
  std::map<std::uint64_t, KnownStep> steps_;
};

}  // namespace sluice::runtime
