#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::runtime {

/// A plan that was made for one step and holds for all steps of the same pattern.
struct RecordedPlan {
  /// What it reads of a log: offsets [first, end).
  struct Source {
    std::uint32_t writer = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  replay::Plan plan;
  std::uint32_t first_writer = 0;  ///< of the logs that were the step's own; the writers move with it
  /// Apart from one another, unless they are very many: then one for each writer. Ascending.
  std::vector<Source> sources;
  std::uint64_t source_bytes = 0;  ///< of all sources

  /// Throws what replay::source_range throws.
  RecordedPlan(replay::Plan made, std::uint32_t first_own_writer, std::size_t element_bytes);
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  static constexpr std::size_t most_sources = 256;
  /// Makes one of sources of a writer that are no further apart.
  void join_sources(std::uint64_t largest_gap);
};

/// The plans that this process has been given, by pattern and request (docs/architecture.md, "Replay"). Those
/// that were not used for longest go first when there are too many. Any threads.
class PlanCache {
 public:
  explicit PlanCache(std::size_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  /// The plan, shared with the cache; null when there is none.
  [[nodiscard]] std::shared_ptr<const RecordedPlan> find(const matcher::Fingerprint& key);
  void add(const matcher::Fingerprint& key, std::shared_ptr<const RecordedPlan> plan);

 private:
  struct Entry {
    matcher::Fingerprint key;
    std::shared_ptr<const RecordedPlan> plan;  ///< shared with gets that run it
  };
  using Entries = std::list<Entry>;  ///< what was used last is in front

  std::mutex mutex_;
  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  Entries entries_;
  std::unordered_map<matcher::Fingerprint, Entries::iterator, matcher::FingerprintHash> by_key_;
};

}  // namespace sluice::runtime
