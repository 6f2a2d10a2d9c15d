#pragma once
#include <cstdint>
#include <map>

#include "cached_steps.hpp"
#include "distributed_matcher.hpp"
#include "relay_tree.hpp"

namespace sluice::runtime {

/// The steps as the registry has described them, and the queries for newer views.
class StepViews {
 public:
  explicit StepViews(RelayTree& tree) : tree_(tree) {}

  [[nodiscard]] CachedStep* find(matcher::StepId step) { return steps_.find(step); }
  /// Provides the view. A published step keeps its view; for a step in progress, asks for the newest one.
  /// `connection`: the connection whose process must have the step open; 0: none.
  void with_view(matcher::StepId step, std::uint64_t connection, ViewReceiver receiver);
  /// Always asks the registry.
  void query(matcher::StepId step, std::uint64_t connection, ViewReceiver receiver);

  /// Stores the view of the answer. Returns null when the answer has none.
  CachedStep* store(View& answer);
  /// Calls the receiver of the answer.
  void settle(const View& answer);
  void forget(matcher::StepId step) { steps_.forget(step); }

 private:
  RelayTree& tree_;
  CachedSteps steps_;
  std::map<std::uint32_t, ViewReceiver> waiting_;  ///< by query number
  std::uint32_t next_query_ = 1;
};

}  // namespace sluice::runtime
