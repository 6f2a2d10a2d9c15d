#pragma once
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::matcher {

using StepId = std::uint64_t;

struct Group;

/// Where a segment is.
enum class Medium : std::uint8_t { memory, disk };

[[nodiscard]] constexpr Medium medium_of(SegmentId segment) noexcept {
  return is_spilled(segment) ? Medium::disk : Medium::memory;
}

/// Bytes by node.
using NodeBytes = boost::container::flat_map<std::uint32_t, std::uint64_t>;

/// What a process has put when it calls ncmpi_sync.
struct SyncPoint {
  TablePosition position = {};
  std::int64_t record_count = 0;  ///< as its group has agreed on
  Fingerprint requests = {};      ///< LogPattern::requests so far
};

/// A segment of one log, or of several that continue one another; the last of them gives it back.
using SharedSegment = std::shared_ptr<SegmentLease>;

/// The write log of one process in one step: the segments with its request table and its data, in the order
/// in which they were granted. A log may continue the one that the same process wrote in the step that was
/// reopened: in the same segments, behind what was published then.
struct WriteLog {
  std::vector<SharedSegment> tables;
  std::vector<SharedSegment> data;
  std::vector<LogRange> ranges;    ///< where the data is, ascending; known when it is published
  LogPattern pattern;              ///< the same; of what this step has added
  LogExtent extent;                ///< the same; of all
  TablePosition begin = {0, 0};    ///< where this step's requests begin
  std::uint64_t first_offset = 0;  ///< and their data: a log offset
  std::size_t earlier_data = 0;    ///< segments of `data` that an earlier step has
  TablePosition end;               ///< of its request table; known when it is published
  Fingerprint earlier;             ///< of all that was put in the logs that it continues
  TablePosition published;         ///< readers see the requests before it
  Fingerprint published_requests;
  std::optional<SyncPoint> synced;  ///< told, while others of the group have not
  bool is_complete = false;         ///< what is behind `published` belongs to later steps
  bool is_cut = false;              ///< what is behind `published` is nobody's any more
  SegmentId ahead = 0;              ///< of `data`, granted before the first put; 0: none
  std::string burst_log;            ///< the metadata log on disk that the data is in, if any

  /// Whether the same process may go on in it, in another step.
  [[nodiscard]] bool may_be_continued() const noexcept;
  /// A log that does. The ends of its segments count again. None: there is no memory for that.
  [[nodiscard]] std::shared_ptr<WriteLog> continued() const;
  /// Whether the range is inside one of the data segments.
  [[nodiscard]] bool holds(const LogRange& range) const noexcept;
  /// It is published: what its segments have behind their ranges, and its tables behind `end`, counts no
  /// longer. What was granted ahead goes back if nothing was put there.
  void trim(const TablePosition& end) noexcept;
  void add_bytes(Medium medium, NodeBytes& bytes) const;
  [[nodiscard]] LogView view() const;
};

/// Bytes that each process of a group has in its control block, and that all have in common behind these.
inline constexpr std::uint64_t control_slot_bytes = 1024;
inline constexpr std::uint64_t control_common_bytes = 16384;

enum class StepState : std::uint8_t {
  in_progress,  ///< its group is writing it
  published,    ///< complete, for readers
  discarded,    ///< kept only until its writers have noticed
};

/// Whether a step is written to a file on disk.
enum class DrainState : std::uint8_t {
  none,     ///< it is not to be, or not yet
  waiting,  ///< others come first
  active,   ///< a matcher is at it
  ended,    ///< it was, or could not be
};

/// What a declared reader has done with a step.
struct ReaderRecord {
  bool has_closed = false;                          ///< one of its processes at least has
  boost::container::flat_set<ProcessId> processes;  ///< that have closed it, and seen all of it
  /// Those that closed it while it was in progress: the latest publication that they saw.
  boost::container::flat_map<ProcessId, std::uint64_t> early;
};

/// What keeps a published step that nobody has open, in ascending order.
enum class Claim : std::uint8_t {
  none,      ///< all processes of all readers have closed it, or ended: it is consumed
  doubtful,  ///< somebody may ask for it, but none that is known of: it goes where there is no other room
  needed,
};

/// The order in which the memory of such steps is taken. Those that some processes of a reader, which read
/// steps of this rule before, have not come to go last: each may open for itself.
struct ConsumedPlace {
  bool is_expected_again = false;
  std::uint64_t order = 0;
  auto operator<=>(const ConsumedPlace&) const = default;
};

/// One create…close of a dataset by its writer component, or one reopen-for-writing…close: the unit that is
/// published.
struct Step {
  StepId id = 0;
  DatasetKey key;
  std::string name;          ///< for messages
  std::uint8_t version = 1;  ///< CDF version that the user asked for
  std::string path;          ///< of the file that it stands for, as its writer named it: absolute
  PublishAt publish_at = PublishAt::close;
  PartitionKind partition = PartitionKind::range;
  bool is_in_files = false;  ///< there is no data here: no logs' segments, no control block, no header
  StepState state = StepState::in_progress;
  std::int64_t record_count = 0;
  std::vector<std::byte> header;      ///< CDF-5 encoding; empty before the first enddef
  Fingerprint structure;              ///< of the header
  StepPattern pattern;                ///< its base record from the start, the rest when it is published
  std::uint64_t revision = 0;         ///< grows with each change of what a StepView tells
  std::uint64_t header_revision = 0;  ///< the revision at which the header came
  SegmentLease control;               ///< while it is written, and its group is within one node
  /// First those of the step that was reopened, if any, then one of each rank of the group. Shared by the
  /// steps that continue one another.
  std::vector<std::shared_ptr<WriteLog>> logs;
  std::size_t first_own_log = 0;
  bool is_continued = false;  ///< its own logs are in the place of the reopened step's, and continue them
  bool is_apart = false;      ///< published: its own logs have no record below its base
  std::vector<SegmentLease> landings;  ///< for what is brought to other nodes
  Group* writers = nullptr;            ///< until all of them are done with it
  std::vector<Group*> readers;         ///< groups that have it open
  std::vector<ReaderRecord> read_by;   ///< per declared reader of the rule
  std::uint64_t publications = 0;      ///< syncs of the whole group, while it is in progress
  std::int64_t published_records = 0;  ///< at the last of them
  bool is_cut = false;                 ///< it ends with what was published when a writer died
  bool is_superseded = false;          ///< a newer one is published, or the dataset was removed
  Claim claim = Claim::needed;
  std::optional<ConsumedPlace> consumed_place;  ///< while it is not needed
  std::string reason;                           ///< why it was discarded or cut off
  DrainState drain = DrainState::none;
  StepId origin = 0;  ///< of the steps that continue one another, the first
  /// What its file has already when it is drained: of each log what is before a position, and records; -1:
  /// nothing is known of it.
  std::vector<TablePosition> drained_logs;
  std::int64_t drained_records = -1;

  /// Its memory is needed for its file.
  [[nodiscard]] bool is_draining() const noexcept {
    return drain == DrainState::waiting || drain == DrainState::active;
  }

  /// Bytes of the segments of all logs and of what has landed, where there are any.
  [[nodiscard]] NodeBytes bytes_in(Medium medium) const;
  [[nodiscard]] NodeBytes staged_bytes() const { return bytes_in(Medium::memory); }
  /// Whether there are any of a node, of either medium.
  [[nodiscard]] bool has_data_on(std::uint32_t node) const;
  [[nodiscard]] StepView view() const;
  /// The number of records that readers are told when they open it.
  [[nodiscard]] std::int64_t records_for_readers() const noexcept {
    return state == StepState::in_progress && publications > 0 ? published_records : record_count;
  }
};

/// Finds Step::is_apart, when its logs are all published.
void set_apart(Step& step) noexcept;

/// Computes the pattern of a step whose logs are all published, and of which that is known.
void set_pattern(Step& step) noexcept;

}  // namespace sluice::matcher
