#pragma once
// Requests of processes to the registry. The structs are also the messages of sluice/runtime/protocol.hpp.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/open.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::matcher {

/// Describes a dataset whose file is of another format than CDF.
inline constexpr std::uint8_t no_cdf_version = 255;

/// Why a step ends without being published.
enum class StepEnd : std::uint8_t {
  aborted,    ///< the program, or a call that has failed, gives it up
  untouched,  ///< nothing was written: what was there before is still there
  lost,       ///< what was written is gone, and the program has not given it up
};

/// Requests memory for the write log of this process in `step`: at least `bytes`. A recycled segment holds
/// old contents, so the registry clears word 0 of a table and the whole of a control block before the grant.
/// Table chunks of a process follow one another in the order of their grants.
struct SegmentRequest {
  StepId step = 0;
  SegmentUse use = SegmentUse::data;
  std::uint64_t bytes = 0;         ///< the process cannot continue with less
  std::uint64_t wanted_bytes = 0;  ///< preferred size, if it is available without a wait
  /// Requests a part of a burst-buffer log instead of memory: `bytes` of the data file, which this process
  /// has reserved.
  LogPlace log = {};
  bool is_ahead = false;    ///< for future puts: refused instead of waited for, also when memory is short
  bool is_on_disk = false;  ///< of a file: its bytes are on the spill disk already, so they only count there
  bool operator==(const SegmentRequest&) const = default;
};

/// The disk has no space for `bytes` more in this process's burst-buffer log.
struct DiskRequest {
  StepId step = 0;
  std::uint64_t bytes = 0;
  /// Done::given_back of the last answer before the process tried; 0: there was no answer.
  std::uint64_t seen = 0;
  std::string trouble = {};  ///< the system's error text
};

/// Sent by rank 0 at enddef, and before publishing when metadata has changed.
struct HeaderRequest {
  StepId step = 0;
  std::vector<std::byte> header;
  Fingerprint structure = {};  ///< structure_of the header
  std::uint8_t version = 0;    ///< CDF version, where create did not know it yet; 0: that of create
};

/// The state of a process's log when the process calls ncmpi_sync.
struct SyncPoint {
  TablePosition position = {};    ///< the end of its request table
  std::int64_t record_count = 0;  ///< as agreed by its group
  Fingerprint requests = {};      ///< LogPattern::requests so far
};
/// Makes the puts of the process so far visible to readers, when all members of the group have sent it
/// (publish: sync).
struct SyncRequest {
  StepId step = 0;
  SyncPoint point;
};

/// The process has finished writing (close). The step is complete when all members of the group have sent
/// this.
struct PublishRequest {
  StepId step = 0;
  std::int64_t record_count = 0;
  AccessCounters counters;
  LogPattern pattern = {};
  LogRanges ranges = {};        ///< the positions of all of its log's data; `writer` is ignored
  TablePosition position = {};  ///< the end of its request table
  std::optional<std::uint64_t> file_bytes = {};  ///< the step was written as a file of that size
  AccessTimes times = {};
  LogExtent extent = {};     ///< of the requests
  std::uint32_t closes = 1;  ///< how often the file has been closed since it was new, as far as is known
};

/// The process has finished reading (close).
struct ReadEnd {
  StepId step = 0;
  AccessCounters counters;
  AccessTimes times = {};
  std::uint64_t group = 0;  ///< of a read that was offered: Member::group; 0: of another one
};

/// Nothing is published: after ncmpi_abort, an open or close that has failed, and where nothing was written
/// after all. A matcher sends it for a file that was written by the C library and cannot be published.
struct Discard {
  StepId step = 0;  ///< 0: changes of a file are lost of which the registry has not heard
  StepEnd end = StepEnd::aborted;
  std::string reason = {};  ///< for whoever runs the workflow; empty: the program has aborted it
  DatasetKey key = {};      ///< where `step` is 0
};

/// The process uses a step no longer, that it has created or opened.
struct Close {
  std::variant<PublishRequest, ReadEnd, Discard> how;
  [[nodiscard]] StepId step() const noexcept {
    return std::visit([](const auto& end) { return end.step; }, how);
  }
};

/// A process cannot use a file of the rule, for a reason that whoever runs the workflow has to know. The
/// first such text of a component and a rule is an event.
struct Complaint {
  std::uint32_t rule = 0;  ///< OrdinaryFile::no_rule: of none
  std::string text;
};

/// What a process tells of itself, for status and events. Nobody waits for what follows from it: a process
/// that waits inside a collective call (Gathering) may act, like one that computes.
struct Note {
  std::variant<OrdinaryFile, Gathering, CopyNotice, Complaint> what;
};

}  // namespace sluice::matcher
