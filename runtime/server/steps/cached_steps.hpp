#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_index.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The registry's view of a step, shared by all its users.
using StepViewPointer = std::shared_ptr<const matcher::StepView>;

/// The state of a step in a matcher that answers gets.
struct CachedStep {
  StepViewPointer view;
  /// For a single matcher: made at the first get, from the header of this view. It shows what readers see, or
  /// what the step's own writers see when that is more.
  std::unique_ptr<matcher::StepIndex> index;
  std::unique_ptr<matcher::StepIndex> writers_index;
  /// For a step that continues others: only the step's own puts.
  std::unique_ptr<matcher::StepIndex> added_index;
  std::unique_ptr<matcher::TableScan> scan;  ///< of this node's tables, while the step grows
  bool was_seen_published = false;
  bool was_fetched_ahead = false;

  /// The index for a get, with all present entries of the request tables. `memory` has the tables. Throws
  /// Error(NC_EIO) when a table is damaged.
  [[nodiscard]] matcher::StepIndex& updated_index(matcher::SegmentMemory& memory, bool is_by_writer);
  /// The same for the accesses of this get. When all accesses are to records that the step has added, returns
  /// the smaller index.
  [[nodiscard]] matcher::StepIndex& index_for(matcher::SegmentMemory& memory, const Get& request);
  /// The number of records that readers see. `index` must be up to date: when each put is visible at once,
  /// the request tables know more records than the registry.
  [[nodiscard]] std::int64_t record_count() const noexcept;
  /// Whether a reader's get waits for unwritten elements.
  [[nodiscard]] bool may_wait(bool is_by_writer) const noexcept {
    return view->publish_at == matcher::PublishAt::write && !view->is_final && !is_by_writer;
  }
};

/// The steps that processes of this matcher have open, or that this matcher works on for others. Holds the
/// registry's last view of each.
class CachedSteps {
 public:
  /// Returns null for an unknown step.
  [[nodiscard]] CachedStep* find(std::uint64_t step);
  /// Stores the registry's view. Keeps the header when its revision has not changed: the message then lacks
  /// it.
  CachedStep& take(matcher::StepView view);
  void forget(std::uint64_t step) { steps_.erase(step); }

 private:
  std::map<std::uint64_t, CachedStep> steps_;
};

}  // namespace sluice::runtime
