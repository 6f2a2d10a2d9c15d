#pragma once
#include <boost/container/flat_set.hpp>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_index.hpp"

namespace sluice::matcher {

using StepId = std::uint64_t;

struct Group;

/// Bytes that each process of a group has in its control block, and that all have in common behind these.
inline constexpr std::uint64_t control_slot_bytes = 1024;
inline constexpr std::uint64_t control_common_bytes = 16384;

enum class StepState : std::uint8_t {
  in_progress,  ///< its group is writing it
  published,    ///< complete, for readers
  discarded,    ///< kept only until its writers have noticed
};

/// What a declared reader has done with a step.
struct ReaderRecord {
  bool has_closed = false;                          ///< a whole group of it has
  boost::container::flat_set<ProcessId> processes;  ///< that have closed it
};

/// The order in which the memory of consumed steps is taken. Where some processes of a reader that read steps
/// of this rule before have not come to this one (each may open for itself), they may still come: such a step
/// goes last.
struct ConsumedPlace {
  bool is_partial = false;
  std::uint64_t order = 0;
  auto operator<=>(const ConsumedPlace&) const = default;
};

/// One create…close of a dataset by its writer component, or one reopen-for-writing…close: the unit that is
/// published.
struct Step {
  StepId id = 0;
  DatasetKey key;
  std::uint8_t version = 1;  ///< CDF version that the user asked for
  StepState state = StepState::in_progress;
  std::int64_t record_count = 0;
  std::vector<std::byte> header;  ///< CDF-5 encoding; empty before the first enddef
  SegmentLease control;           ///< while it is written
  /// First those of the step that was reopened, if any, then one of each rank of the group. Shared by the
  /// steps that continue one another.
  std::vector<std::shared_ptr<WriteLog>> logs;
  std::size_t first_own_log = 0;
  Group* writers = nullptr;                     ///< until all of them are done with it
  std::vector<Group*> readers;                  ///< groups that have it open
  std::vector<ReaderRecord> read_by;            ///< per declared reader of the rule
  bool is_superseded = false;                   ///< a newer one is published, or the dataset was removed
  std::optional<ConsumedPlace> consumed_place;  ///< while it is consumed and nobody has it open
  std::string reason;                           ///< why it was discarded
  std::unique_ptr<StepIndex> index;             ///< made at the first get

  /// Bytes of the segments of all logs.
  [[nodiscard]] std::uint64_t staged_bytes() const noexcept;
};

}  // namespace sluice::matcher
