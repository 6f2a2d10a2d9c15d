#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_index.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// What the registry tells of a step; shared by all that work on it.
using StepViewPointer = std::shared_ptr<const matcher::StepView>;

/// A step as a matcher that answers gets knows it.
struct KnownStep {
  StepViewPointer view;
  /// Where there is one matcher only: made at the first get; of the header of this view. What readers see,
  /// and what the step's own writers see as long as that is more.
  std::unique_ptr<matcher::StepIndex> index;
  std::unique_ptr<matcher::StepIndex> writers_index;
  /// Of a step that continues others: what it has put itself, however much that they did.
  std::unique_ptr<matcher::StepIndex> added_index;
  std::unique_ptr<matcher::TableScan> scan;  ///< of this node's tables, while the step grows
  bool was_seen_published = false;
  bool was_fetched_ahead = false;

  /// The index for a get, with all that is in the request tables now. `memory` has the tables. Throws
  /// Error(NC_EIO) when one is damaged.
  [[nodiscard]] matcher::StepIndex& updated_index(matcher::SegmentMemory& memory, bool is_by_writer);
  /// The same for the accesses of this get. They may all be to records that the step has added.
  [[nodiscard]] matcher::StepIndex& index_for(matcher::SegmentMemory& memory, const Get& request);
  /// The number of records that readers see; `index` has been updated. Where each put is visible at once, the
  /// request tables know more than the registry.
  [[nodiscard]] std::int64_t record_count() const noexcept;
  /// Whether a get of a reader waits for what was not put yet.
  [[nodiscard]] bool may_wait(bool is_by_writer) const noexcept {
    return view->publish_at == matcher::PublishAt::write && !view->is_final && !is_by_writer;
  }
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
