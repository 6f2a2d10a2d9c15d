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

/// A plan that was made for one step and holds for all steps of the same pattern; also for other variables
/// that were written by the same requests, with other log offsets.
struct SharedPlan {
  replay::Plan plan;
  /// What it reads of the logs; where these are very many pieces, one for each writer.
  std::vector<replay::PlanSource> sources;
  std::uint64_t source_bytes = 0;  ///< of all sources

  /// Throws what replay::source_range throws.
  SharedPlan(replay::Plan made, std::size_t element_bytes);
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  static constexpr std::size_t most_sources = 256;
};

/// The plan of one request.
struct RecordedPlan {
  std::shared_ptr<const SharedPlan> shared;  ///< with other requests
  std::uint32_t first_writer = 0;  ///< of the logs that were the step's own; the writers move with it
  std::vector<LogShift> shifts;    ///< how far the log offsets are from those in `shared`
  std::vector<std::uint64_t> first_offsets = {};  ///< where own logs began, if they went on in earlier ones

  /// Without the shared part.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof *this + shifts.size() * sizeof(LogShift) + first_offsets.size() * sizeof(std::uint64_t);
  }
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

  void drop_last();

  std::mutex mutex_;
  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  Entries entries_;
  std::unordered_map<matcher::Fingerprint, Entries::iterator, matcher::FingerprintHash> by_key_;
  std::unordered_map<const SharedPlan*, std::size_t> users_;  ///< entries that share a plan
};

}  // namespace sluice::runtime
