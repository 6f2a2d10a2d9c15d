#pragma once
#include <algorithm>
#include <array>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/matcher/client_requests.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/on_demand.hpp"
#include "sluice/matcher/packed_logs.hpp"
#include "sluice/matcher/process_set.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::matcher {

/// The medium of a segment.
enum class Medium : std::uint8_t { memory, disk };

[[nodiscard]] constexpr Medium medium_of(SegmentId segment) noexcept {
  return is_spilled(segment) ? Medium::disk : Medium::memory;
}

/// Bytes by node.
using NodeBytes = boost::container::flat_map<std::uint32_t, std::uint64_t>;

/// Sums of bytes, by medium and node.
class BytesByMedium {
 public:
  void add(const SegmentLease& segment) { add(segment.id(), segment.charged_bytes()); }
  /// `bytes` of segments that lie where `segment` lies.
  void add(SegmentId segment, std::uint64_t bytes);
  [[nodiscard]] NodeBytes& in(Medium medium) noexcept {
    return sums_[static_cast<std::size_t>(medium)].bytes;
  }

 private:
  struct Sum {
    NodeBytes bytes;
    NodeBytes::iterator last = bytes.end();  ///< segments of a node come one after the other
  };
  std::array<Sum, 2> sums_;
};

/// A segment of one log, or of several logs that continue one another. The last log returns it.
using SharedSegment = std::shared_ptr<SegmentLease>;

/// The write log of one process in one step: the segments with its request table and its data, in the order
/// of their grants. A log may continue the log that the same process wrote in the reopened step: in the same
/// segments, behind the published data.
struct WriteLog {
  /// Most logs have one segment of either kind.
  using Segments = boost::container::small_vector<SharedSegment, 1>;
  /// Known when the log is published.
  struct Contents {
    LogRanges ranges;    ///< the positions of the data, ascending
    LogPattern pattern;  ///< the pattern of this step's own requests
    LogExtent extent;    ///< the extent of all requests
    TablePosition end;   ///< the end of its request table
  };
  /// Of a step that is published by ncmpi_sync.
  struct Synced {
    Fingerprint published_requests;
    std::optional<SyncPoint> point;  ///< set while other members of the group have not synced
  };
  Segments tables;
  Segments data;
  TablePosition begin = {0, 0};    ///< the position where this step's requests begin
  std::uint64_t first_offset = 0;  ///< the log offset where their data begins
  std::size_t earlier_data = 0;    ///< segments of `data` that belong to an earlier step
  SegmentId ahead = 0;             ///< the segment of `data` that was granted before the first put; 0: none
  bool is_complete = false;        ///< data behind `published` belongs to later steps
  bool is_cut = false;             ///< data behind `published` belongs to no step
  TablePosition published;         ///< readers see the requests before this position
  OnDemand<Contents> contents;
  OnDemand<Synced> synced;
  OnDemand<std::string> burst_log;  ///< the metadata log on disk for the data, if any

  /// Whether the same process may continue the log in another step.
  [[nodiscard]] bool may_be_continued() const noexcept;
  /// Makes a log that continues this one. The ends of its segments count again. Returns null when there is no
  /// memory for that.
  [[nodiscard]] std::shared_ptr<WriteLog> continued() const;
  /// Whether the range is inside one of the data segments.
  [[nodiscard]] bool holds(const LogRange& range) const noexcept;
  /// The log has closed. The space of its segments behind their ranges, and of its tables behind `end`, no
  /// longer counts. The segment that was granted ahead is returned if nothing was put there.
  void trim(const LogRanges& all_ranges, const TablePosition& end_of_table) noexcept;
  void add_bytes(BytesByMedium& sums) const;
  /// `view`: a new one.
  void fill(LogView& view) const;
};

/// New logs, which no other step shares.
[[nodiscard]] std::vector<std::shared_ptr<WriteLog>> new_logs(std::size_t processes);

/// Bytes of a group's control block: a slot for each process, and times of calls if there are several
/// processes.
[[nodiscard]] constexpr std::uint64_t control_bytes(std::uint32_t processes) noexcept {
  constexpr std::uint64_t slot_bytes = 1024;
  constexpr std::uint64_t times_bytes = 16384;
  return slot_bytes * processes + (processes > 1 ? times_bytes : 0);
}

enum class StepState : std::uint8_t {
  in_progress,  ///< its group is writing it
  published,    ///< complete, for readers
  discarded,    ///< kept only until its writers have noticed
};

/// The state of writing a step to a file on disk.
enum class DrainState : std::uint8_t {
  none,     ///< not to be written, or not yet
  waiting,  ///< waits for other drains
  active,   ///< a matcher is writing the file
  ended,    ///< the file was written, or could not be written
};

/// What a declared reader component has done with a step.
struct ReaderRecord {
  bool has_closed = false;  ///< at least one of its processes has closed the step
  /// processes that have closed the step and seen all of it
  ProcessSet processes;
  /// A process has died with the step open, and its component may be started again.
  bool is_unfinished = false;
  bool has_died = false;  ///< a process has died with the step open, and nobody has closed it since
  /// Processes of an earlier start have closed the step, or the same file of an earlier start of the writer.
  /// Whether others need it is not known.
  bool has_read_before = false;
  /// Processes that closed the step while it was in progress, with the latest publication that they saw.
  boost::container::flat_map<ProcessId, std::uint64_t> early;
  bool is_taken = false;    ///< a process has opened it
  bool is_passed = false;   ///< the reader needs it no longer, by its mode or because the queue was full
  bool is_skipped = false;  ///< passed by its mode, and not taken
};

/// The claim that keeps a published step while no process has it open, in ascending order.
enum class Claim : std::uint8_t {
  none,      ///< consumed: all processes of all readers have closed the step, or ended
  doubtful,  ///< an unknown process may ask for the step: it is removed when no other memory is left
  needed,
};

/// The order in which the memory of consumed steps is reclaimed. Some steps have a reader with processes that
/// read earlier steps of this rule, but not this one. These steps come last, because each process may open
/// the file on its own.
struct ConsumedPlace {
  bool is_expected_again = false;
  std::uint64_t order = 0;
  auto operator<=>(const ConsumedPlace&) const = default;
};

/// The file that a step stands for, on a node whose programs read it by the C library.
struct StepImage {
  struct Reader {
    Ticket ticket;
    ProcessId process{};
    std::uint64_t revision = 0;  ///< Step::revision when it asked
    bool sees_all = false;       ///< as StepImage::shows_all
  };
  SegmentLease file;           ///< empty while it waits for memory
  std::uint64_t bytes = 0;     ///< of the file
  std::uint64_t revision = 0;  ///< Step::revision that it shows
  bool shows_all = false;      ///< for the writer's component: all that was put so far
  bool is_ready = false;
  std::vector<Reader> waiting;
};

/// One create…close of a dataset by its writer component, or one reopen-for-writing…close. A step is the unit
/// of publication.
struct Step {
  StepId id = 0;
  DatasetKey key;
  std::string name;          ///< for messages
  std::uint8_t version = 1;  ///< CDF version that the user requested; 0: the file is of another format
  std::optional<std::uint64_t> file_bytes = {};  ///< it was written as a file of that size
  std::string path;       ///< absolute path of the file that it stands for, as its writer named it
  std::string file = {};  ///< of a step of a former run: the file with its data
  PublishAt publish_at = PublishAt::close;
  PartitionKind partition = PartitionKind::range;
  std::uint64_t number = 0;          ///< in its sequence, from 1; 0: not published
  std::uint64_t number_in_rule = 0;  ///< the same, in all sequences of its rule together
  std::uint64_t stream_number = 0;   ///< in a stream: `number`; else 0
  bool goes_to_disk = false;         ///< it was begun when the queue was full (when-full: spill)
  bool is_in_files = false;          ///< the data is in files: no log segments, no control block, no header
  bool is_new = false;               ///< it does not begin with what was there before
  std::uint32_t closes = 1;          ///< PublishRequest::closes
  bool takes_over = false;   ///< others have written the same file meanwhile, and left it to this step
  bool is_nameless = false;  ///< its name was removed while it was written: nobody will read it
  StepState state = StepState::in_progress;
  std::int64_t record_count = 0;
  std::vector<std::byte> header;  ///< CDF-5 encoding; empty before the first enddef
  Fingerprint structure;          ///< of the header
  StepPattern pattern;  ///< the base record is known from the start, the rest when the step is published
  std::uint64_t revision = 0;         ///< grows with each change of the contents of a StepView
  std::uint64_t header_revision = 0;  ///< the revision in which the header changed last
  SegmentLease control;               ///< set while the step is written by a group within one node
  /// First the logs of the reopened step, if any, then one of each rank of the group. Steps that continue one
  /// another share their logs.
  std::vector<std::shared_ptr<WriteLog>> logs;
  /// The logs of a step that has very many; `logs` has none then.
  std::optional<PackedLogs> packed;
  std::size_t first_own_log = 0;
  bool is_continued = false;  ///< its own logs replace the logs of the reopened step, and continue them
  bool is_apart = false;      ///< published: its own logs have no record below its base
  std::vector<SegmentLease> inbound_parts;                      ///< for data copied to other nodes
  boost::container::flat_map<std::uint32_t, StepImage> images;  ///< by node
  std::uint32_t writer_restarts = 0;                            ///< Component::restarts of its writer
  Group* writers = nullptr;            ///< set until all members have finished with the step
  std::vector<Group*> readers;         ///< groups that have it open
  std::vector<ReaderRecord> read_by;   ///< per declared reader of the rule
  std::uint64_t publications = 0;      ///< number of syncs of the whole group while the step is in progress
  std::int64_t published_records = 0;  ///< number of records at the last sync
  bool is_cut = false;                 ///< a writer died: the step ends with the published data
  bool is_superseded = false;          ///< a newer step is published, or the dataset was removed
  Claim claim = Claim::needed;
  std::optional<ConsumedPlace> consumed_place;  ///< set while no process needs the step
  std::string reason;                           ///< why the step was discarded or cut off
  DrainState drain = DrainState::none;
  SegmentId offered_by = 0;  ///< the page of offers through which its writers got it; 0: none
  StepId origin = 0;         ///< the first of the steps that continue one another
  StepId base = 0;           ///< the step that was reopened
  Fingerprint earlier;       ///< its StepPattern::whole
  /// The contents that its file has before the drain: for each log the part before a position, and a number
  /// of records; -1: nothing is known.
  std::vector<TablePosition> drained_logs;
  std::int64_t drained_records = -1;

  /// The step's memory is needed for its file.
  [[nodiscard]] bool is_draining() const noexcept {
    return drain == DrainState::waiting || drain == DrainState::active;
  }

  /// The file to read, of a step that is in files.
  [[nodiscard]] const std::string& data_path() const noexcept { return file.empty() ? path : file; }

  /// An image is being made of it, or waits for memory.
  [[nodiscard]] bool is_becoming_image() const noexcept {
    return std::ranges::any_of(images, [](const auto& image) { return !image.second.is_ready; });
  }

  /// Bytes by node: segments of all logs, images, and data fetched from other nodes. Nodes without any are
  /// left out.
  [[nodiscard]] BytesByMedium bytes_by_medium() const;
  [[nodiscard]] NodeBytes bytes_in(Medium medium) const { return std::move(bytes_by_medium().in(medium)); }
  [[nodiscard]] NodeBytes staged_bytes() const { return bytes_in(Medium::memory); }
  /// The nodes that have request tables of the step.
  [[nodiscard]] std::set<std::uint32_t> table_nodes() const;
  /// Whether a node has data of the step, in either medium.
  [[nodiscard]] bool has_data_on(std::uint32_t node) const;
  /// Of a step in progress: unpack() it before.
  [[nodiscard]] StepView view() const;
  /// All logs are in `logs` from now on.
  void unpack();
  /// The log of the process in the group of writers is looked at soon: brings it into the cache.
  void expect_log(std::uint32_t rank) const noexcept;
  /// The number of records that readers get when they open the step.
  [[nodiscard]] std::int64_t records_for_readers() const noexcept {
    return state == StepState::in_progress && publications > 0 ? published_records : record_count;
  }
};

/// Sets Step::is_apart, when all logs of the step are published.
void set_apart(Step& step) noexcept;

/// Computes the pattern of a step when all its logs are published and their patterns are known.
void set_pattern(Step& step);

}  // namespace sluice::matcher
