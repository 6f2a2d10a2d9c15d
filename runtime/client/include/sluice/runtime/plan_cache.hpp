#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "sluice/matcher/fingerprint.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::runtime {

using matcher::LogShift;

/// A plan that was made for one step and is valid for all steps of the same pattern. It also serves other
/// variables that were written by the same requests at other log offsets.
struct SharedPlan {
  replay::Plan plan;
  /// The log ranges that the plan reads; one range per writer when there would be very many pieces.
  std::vector<replay::PlanSource> sources;
  std::uint64_t source_bytes = 0;  ///< of all sources

  /// Throws as replay::source_range does.
  SharedPlan(replay::Plan made, std::size_t element_bytes);
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  static constexpr std::size_t most_sources = 256;
};

/// The plan of one request.
struct RecordedPlan {
  std::shared_ptr<const SharedPlan> shared;  ///< with other requests
  std::uint32_t first_writer = 0;            ///< the step's first own log; the writers move with it
  std::vector<LogShift> shifts;              ///< distances of the log offsets from the offsets in `shared`
  std::vector<std::uint64_t> first_offsets = {};  ///< where own logs began, if they continued earlier ones

  /// Size without the shared part.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof *this + shifts.size() * sizeof(LogShift) + first_offsets.size() * sizeof(std::uint64_t);
  }
};

/// The plans that this process has received, by pattern and request (docs/design/replay-plans.md). A full
/// cache drops the least recently used plans. Any threads.
class PlanCache {
 public:
  explicit PlanCache(std::size_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  /// Returns the plan, shared with the cache; null when there is none.
  [[nodiscard]] std::shared_ptr<const RecordedPlan> find(const matcher::Fingerprint& key);
  void add(const matcher::Fingerprint& key, std::shared_ptr<const RecordedPlan> plan);

 private:
  struct Entry {
    matcher::Fingerprint key;
    std::shared_ptr<const RecordedPlan> plan;  ///< shared with gets that run it
  };
  using Entries = std::list<Entry>;  ///< the most recently used entry is in front

  void drop_last();

  std::mutex mutex_;
  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  Entries entries_;
  std::unordered_map<matcher::Fingerprint, Entries::iterator, matcher::FingerprintHash> by_key_;
  std::unordered_map<const SharedPlan*, std::size_t> users_;  ///< the number of entries that share a plan
};

}  // namespace sluice::runtime
