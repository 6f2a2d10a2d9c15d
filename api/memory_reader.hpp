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

/// uint8 user data and int8 external data are the same thing in the two old formats.
[[nodiscard]] bool byte_is_unsigned(const formats::Header& header) noexcept;

/// Gets from one step in staged memory: by plans of steps with the same pattern where this process has them,
/// else by those that the matcher makes (docs/architecture.md, "Replay"). Not collective; any threads, as far
/// as they have a reader each.
class MemoryReader {
 public:
  /// What the reader may see.
  enum class Sight : std::uint8_t {
    published,  ///< what is published when it asks
    awaited,    ///< the same, and a get waits for what is not there yet
    own         ///< all that its own group has put
  };
  /// `pattern`: empty for a step that is being written.
  MemoryReader(std::shared_ptr<runtime::Session> session, std::uint64_t step,
               const runtime::StepPattern& pattern, Sight sight,
               std::vector<std::uint64_t> first_offsets = {});

  /// Log data of the step that the matcher has told of. Throws Error(NC_EIO) when it is damaged.
  void add_ranges(std::span<const runtime::LogRange> ranges) { logs_->add(ranges); }

  /// Who writes the step in this process tells of the records that there are, for others who read it here.
  void raise_known_records(std::int64_t records) noexcept { logs_->raise_record_count(records); }

  /// The number of records that is published now.
  [[nodiscard]] std::int64_t published_record_count() { return session_->get({step_, {}}).record_count; }

  /// Fills the buffers of all accesses and their statuses; counts them in `counters`.
  void get(const formats::Header& header, std::span<Access> accesses, runtime::AccessCounters& counters);

 private:
  /// An access that needs the matcher.
  struct Missing {
    Access* access = nullptr;
    runtime::Fingerprint key;  ///< under which its plan is kept; empty: not to be kept
  };
  [[nodiscard]] runtime::Fingerprint key_of(const formats::Header& header, const Access& access);
  [[nodiscard]] bool replay(const formats::Header& header, Access& access, const runtime::Fingerprint& key,
                            runtime::StepLogs::Reader& logs) const;
  [[nodiscard]] std::vector<Missing> replay_all(const formats::Header& header, std::span<Access> accesses);
  [[nodiscard]] std::vector<replay::PlanSource> sources_here(const runtime::RecordedPlan& recorded) const;
  [[nodiscard]] std::vector<runtime::LogShift> shifts_here(const runtime::RecordedPlan& recorded) const;
  [[nodiscard]] bool may_move(const runtime::RecordedPlan& recorded) const;
  void prefault(const formats::Header& header, const Access& access, const runtime::RecordedPlan& recorded,
                runtime::StepLogs::Reader& logs) const;
  void match_all(const formats::Header& header, std::span<const Missing> missing);
  void match_in_parts(const formats::Header& header, Access& access);
  void match(const formats::Header& header, std::span<const Missing> missing);
  void run(const formats::Header& header, Access& access, const runtime::RecordedPlan& recorded,
           runtime::StepLogs::Reader& logs) const;

  const std::shared_ptr<runtime::Session> session_;  ///< shared with the process's other datasets
  const std::uint64_t step_;
  const runtime::StepPattern pattern_;
  const Sight sight_;
  const std::vector<std::uint64_t> first_offsets_;  ///< runtime::Opened
  matcher::BoxesSummaries summaries_;               ///< of the accesses of one call
  std::shared_ptr<runtime::StepLogs> logs_;  ///< shared by all that have this step open in this process
};

}  // namespace sluice::api
