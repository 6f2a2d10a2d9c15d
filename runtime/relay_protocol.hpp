#pragma once
// What goes between the matchers and the registry at matcher 0. docs/architecture.md, "Many matchers, many
// nodes".
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

enum class RelayItemKind : std::uint8_t {
  // to the registry
  request = 1,           ///< a client's message as it came: connection, type, tag, fields
  connection_ended = 2,  ///< connection
  segment_mapped = 3,    ///< connection; number: a segment that its process has been given
  view_query = 4,    ///< connection; tag, given back; number: a step that it has open → view, view_refused
                     ///< (connection 0: of the matcher itself, any step)
  notice = 5,        ///< text: a line for the event log; tag: whether few want to see it (1)
  counters = 6,      ///< fields: MatcherStatus
  round_done = 7,    ///< number: of the round; from a matcher and all below it
  lease_query = 8,   ///< tag, given back; number: a step; bytes; wanted_bytes; fields: LeaseReader → lease,
                     ///< lease_refused
  get_waits = 9,     ///< connection, tag: of a get; number: the step; text: what it waits for
  get_goes_on = 10,  ///< connection, tag: of a get that waits no longer
  lease_ahead_query = 11,  ///< as lease_query, where nobody waits for it yet; no fields
  drain_progress = 12,     ///< number: the step; bytes: done; wanted_bytes: of so many
  drained = 13,            ///< number: the step; fields: DrainReport
  drain_ready = 14,        ///< number: the step; fields: DrainTables of this node → drain_part
  lease_joined = 15,       ///< fields: another LeaseReader that waits for a lease; number: the step
  spill_made = 16,         ///< number: a segment; text: why it could not be made, or empty
  start_trouble = 17,      ///< text: why this matcher cannot do its part
  looked = 19,             ///< number: of the look; bytes: whether nobody of them can act (1)
  spill_gone = 18,         ///< number: a segment on disk that has been destroyed here
  // from the registry
  answer = 32,           ///< connection, type, tag, fields; number: a segment to be introduced before, or 0
  hang_up = 33,          ///< connection; text: why
  create_segment = 34,   ///< number: the segment; bytes
  clear_segment = 35,    ///< number: the segment; bytes: its SegmentUse
  destroy_segment = 36,  ///< number: the segment → spill_gone, if it is on disk, unless at matcher 0
  mark_gone = 37,        ///< number: the control block; bytes: the rank
  view = 38,           ///< tag as in the query (0: none); number: the step; fields: StepView, none: unchanged
  view_refused = 39,   ///< tag as in the query; fields: ErrorReply
  step_erased = 40,    ///< number: the step
  round = 41,          ///< to all; number: of the round; bytes: which (Round); text
  lease = 42,          ///< tag as in the query; number: the segment; bytes
  lease_refused = 43,  ///< tag as in the query; fields: ErrorReply
  drain = 44,          ///< number: a complete step, of which the view came before; fields: DrainOrder →
                       ///< drained; of one of several parts → drain_ready
  drain_part = 45,     ///< number: the step; fields: DrainTables of all nodes → drained
  drain_finish = 46,   ///< number: the step; bytes: whether all parts are written (1) → drained
  drop_warm = 48,      ///< what is left of the memory that was made ahead goes back to the system
  spill_segment = 47,  ///< number: a segment to be made on disk; bytes → spill_made, unless at matcher 0
  log_segment = 50,    ///< number: a segment that is a part of a log; bytes; wanted_bytes: its offset; text:
                       ///< the metadata log; tag: whether its user wants it to outlast the run (1)
  look = 52,           ///< number: of the look; fields: LookRequest → looked
  keep_log = 51,       ///< number: a segment of it; bytes: whether its names stay (1)
};

/// What all matchers do together: each does its part, and tells when all below it have done theirs, behind
/// everything that came before.
enum class Round : std::uint8_t {
  start = 1,  ///< listens to clients; text: the directory for segments on disk, if any; wanted_bytes: how
              ///< much memory each matcher makes ahead
  drain_component = 2,  ///< takes what the component's processes (text) have sent, and lets them go
  shut_down = 3,        ///< tells its counters, and ends when that is sent
};

/// How a step becomes a file.
struct DrainOrder {
  std::string path;          ///< absolute
  std::uint8_t version = 1;  ///< CDF version
  matcher::Keep keep;
  /// Of the nodes that have something to write, which one this is. The first makes the file, and writes what
  /// nobody put.
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  /// What the file should have from a drain before, if nobody has touched it: of each log all before a
  /// position, and so many records; -1: not known.
  std::vector<matcher::TablePosition> drained_logs = {};
  std::int64_t drained_records = -1;
  /// What the file says of itself when it is complete (storage::FileMark).
  std::uint64_t run = 0;
  std::int64_t run_begin_ns = 0;
  std::uint64_t origin = 0;
};

/// What is in use of a request table.
struct TableCopy {
  std::uint64_t segment = 0;
  std::vector<std::byte> contents;
};
struct DrainTables {
  std::vector<TableCopy> tables;
  std::string partial = {};  ///< from the first part, and then to all: the file that is written
};

struct DrainReport {
  std::int32_t status = 0;
  std::string text;
  std::uint64_t bytes = 0;   ///< written
  std::string partial = {};  ///< the file that was made, which others write, too
};

/// The connection whose get waits for a lease: of the matcher that asks for it, or of another of its node.
struct LeaseReader {
  std::uint32_t matcher = 0;
  std::uint64_t connection = 0;
};

inline constexpr std::uint32_t all_matchers = std::numeric_limits<std::uint32_t>::max();

/// One message; which fields mean something depends on its kind.
struct RelayItem {
  RelayItemKind kind{};
  std::uint32_t matcher = 0;  ///< rank: whom it comes from, or who is to get it
  std::uint64_t connection = 0;
  MessageType type{};
  std::uint32_t tag = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;
  std::string text;
  std::vector<std::byte> fields;
};

[[nodiscard]] inline RelayItem item_to(std::uint32_t matcher, RelayItemKind kind) {
  RelayItem item;
  item.kind = kind;
  item.matcher = matcher;
  return item;
}

}  // namespace sluice::runtime
