#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/runtime/plan_cache.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::api {

/// In the two old formats, uint8 user data and int8 external data are the same.
[[nodiscard]] bool byte_is_unsigned(const formats::Header& header) noexcept;

/// Gets from one step in staged memory. It uses plans of steps with the same pattern that this process has;
/// otherwise the matcher makes new plans (docs/design/replay-plans.md). Not collective. Several threads may
/// read at once, each with its own reader.
class MemoryReader {
 public:
  /// The data that the reader can see.
  enum class Visibility : std::uint8_t {
    published,  ///< data published at the time of the request
    awaited,    ///< same, and a get waits for missing data
    own         ///< all puts of its own group
  };
  /// `pattern`: empty for a step that is still being written.
  MemoryReader(std::shared_ptr<runtime::Session> session, std::uint64_t step,
               const runtime::StepPattern& pattern, Visibility visibility,
               std::vector<std::uint64_t> first_offsets = {});

  /// Adds log data that the matcher has sent. Throws Error(NC_EIO) if the ranges are damaged.
  void add_ranges(std::span<const runtime::LogRange> ranges) { logs_->add(ranges); }

  /// Called by this process's writer of the step: reports the number of records to readers in this process.
  void raise_known_records(std::int64_t records) noexcept { logs_->raise_record_count(records); }

  /// The number of records published so far.
  [[nodiscard]] std::int64_t published_record_count() { return session_->get({step_, {}}).record_count; }

  /// Fills the buffers of all accesses and sets their statuses; counts them in `counters`.
  void get(const formats::Header& header, std::span<Access> accesses, runtime::AccessCounters& counters);

 private:
  /// An access that needs a plan from the matcher.
  struct Missing {
    Access* access = nullptr;
    runtime::Fingerprint key;  ///< key of its plan in the cache; empty: not kept
  };
  [[nodiscard]] runtime::Fingerprint key_of(const formats::Header& header, const Access& access);
  [[nodiscard]] bool replay(const formats::Header& header, Access& access, const runtime::Fingerprint& key,
                            runtime::LogRangeMap::Reader& logs) const;
  [[nodiscard]] std::vector<Missing> replay_all(const formats::Header& header, std::span<Access> accesses);
  [[nodiscard]] std::vector<replay::PlanSource> sources_here(const runtime::RecordedPlan& recorded) const;
  [[nodiscard]] std::vector<runtime::LogShift> shifts_here(const runtime::RecordedPlan& recorded) const;
  [[nodiscard]] bool may_move(const runtime::RecordedPlan& recorded) const;
  void prefault(const formats::Header& header, const Access& access, const runtime::RecordedPlan& recorded,
                runtime::LogRangeMap::Reader& logs) const;
  void match_all(const formats::Header& header, std::span<const Missing> missing);
  void match_in_parts(const formats::Header& header, Access& access);
  void match(const formats::Header& header, std::span<const Missing> missing);
  void run(const formats::Header& header, Access& access, const runtime::RecordedPlan& recorded,
           runtime::LogRangeMap::Reader& logs) const;

  const std::shared_ptr<runtime::Session> session_;  ///< shared with the process's other datasets
  const std::uint64_t step_;
  const runtime::StepPattern pattern_;
  const Visibility visibility_;
  const std::vector<std::uint64_t> first_offsets_;  ///< runtime::Opened
  matcher::BoxesSummaries summaries_;               ///< accesses of one call
  std::shared_ptr<runtime::LogRangeMap> logs_;      ///< shared by all datasets of this process with this step
};

}  // namespace sluice::api
