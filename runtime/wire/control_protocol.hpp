#pragma once
// The control messages between the matchers and the registry at matcher 0: docs/protocol.md.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drain_orders.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "sluice/matcher/segment_row.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

// To the registry. `connection` is the sender's number of a connection. `query` is a number that the answer
// returns.

/// What a process requests of the registry.
using RegistryRequest = std::variant<Hello
#define SLUICE_REQUEST(number, name, Struct) , Struct
#include "sluice/runtime/messages.def"
                                     >;
template <class Request>
inline constexpr std::string_view request_name = {};
#define SLUICE_REQUEST(number, name, Struct) \
  template <>                                \
  inline constexpr std::string_view request_name<Struct> = #name;
#include "sluice/runtime/messages.def"
/// Decodes a client's message, but for hello. Throws Error(NC_EIO) if it is damaged or not for the registry.
[[nodiscard]] RegistryRequest registry_request(MessageType type, std::span<const std::byte> fields);
/// A client's message.
struct ClientRequest {
  std::uint64_t connection = 0;
  std::uint32_t tag = 0;  ///< 0: nobody waits for an answer
  RegistryRequest request;
};
// Requests of one kind that processes of a matcher have sent one after the other travel as one message: a
// matcher's packet and the registry's work then do not grow with each process as much
// (docs/design/matchers-and-ranks.md).

/// A create, or an open for reading, by several processes of one group.
struct GroupCall {
  struct Caller {
    std::uint64_t connection = 0;
    std::uint32_t tag = 0;
    std::uint32_t rank = 0;  ///< Member::rank
  };
  Open call;  ///< of the first caller; the others differ in rank alone
  std::vector<Caller> callers;
};
/// Requests for memory by several processes. Those of one connection are in calls that follow one another, in
/// their order.
struct SegmentCalls {
  struct Caller {
    std::uint64_t connection = 0;
    std::uint32_t tag = 0;
  };
  /// Requests that are equal.
  struct Call {
    SegmentRequest request;
    std::vector<Caller> callers;
  };
  std::vector<Call> calls;
};
/// Several closes of one step, by connection; those of one connection in their order.
struct Closes {
  struct One {
    std::uint64_t connection = 0;
    std::uint32_t tag = 0;
    Close request;
  };
  std::vector<One> requests;
};
struct ConnectionEnded {
  std::uint64_t connection = 0;
};
/// Takes what the component's processes have sent so far: one of its jobs has ended, or somebody opens a file
/// that they may have closed.
struct TakeSent {
  std::string component;  ///< empty: all components
  /// The part of the round ends when it is known whether the file at this path, or each file in this
  /// directory, has been closed. Empty: no file is meant.
  std::string path;
  matcher::DatasetKey key = {};  ///< of the file: it may have another path at another process
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  static constexpr std::uint32_t whoever_has_it = nobody - 1;  ///< all follow, if somebody is writing it
  std::uint32_t remover = nobody;  ///< the matcher that has taken the name from the file; others follow it
  matcher::DatasetKey new_key = {};
  std::string new_path = {};  ///< empty: it was removed, and not renamed
  bool is_link = false;       ///< it gets one more name
  bool has_ended = false;     ///< all the component's processes have: their connections are closed, too
  auto operator<=>(const TakeSent&) const = default;
};
/// A file that a process writes by the C library has these names now.
struct FileNames {
  std::uint64_t connection = 0;  ///< of the file
  std::vector<DatasetKey> keys;
  bool is_closed = false;  ///< for the last time: it is being published
  bool is_in_place = false;
};
/// Processes have received segments.
struct SegmentsMapped {
  struct One {
    std::uint64_t connection = 0;
    matcher::SegmentId segment = 0;
  };
  std::vector<One> notes;
};
/// → View
struct ViewQuery {
  /// the connection whose process has the step open; 0: the matcher itself, any step
  std::uint64_t connection = 0;
  std::uint32_t query = 0;
  matcher::StepId step = 0;
};
/// The matcher and all matchers below it have done the round.
struct RoundDone {
  std::uint64_t round = 0;
};
/// The connection whose get waits for a lease: of the matcher that requests it, or of another one of its
/// node.
struct LeaseReader {
  std::uint32_t matcher = 0;
  std::uint64_t connection = 0;
};
/// Memory for data of other nodes → Answer with Granted or ErrorReply; or another get waits for the lease.
struct LeaseQuery {
  static constexpr std::uint64_t connection = 0;  ///< of the Answer: that of no client
  std::uint32_t query = 0;                        ///< the tag of the Answer; 0: of a lease that was asked for
  matcher::StepId step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;
  std::optional<LeaseReader> reader;  ///< empty: no get waits for the data yet
};
struct GetWaits {
  std::uint64_t connection = 0;
  std::uint32_t tag = 0;  ///< of the get
  matcher::StepId step = 0;
  std::string text;      ///< matcher::GetWait::text
  bool is_over = false;  ///< it waits no longer
};
/// The image is complete, or could not be made: the bytes of the file.
struct ImageReport {
  matcher::SegmentId file = 0;
  DrainReport report;
};
/// A matcher's part in a copy of a step: it has written so much; it is ready to write, with the tables of its
/// node; it has done, or cannot do, what a MakeCopy asked for.
struct CopyNote {
  matcher::StepId step = 0;
  std::variant<matcher::DrainProgress, DrainTables, DrainReport, ImageReport> what;
};
/// A segment on disk has been made, or destroyed (`is_gone`).
struct SpillDone {
  matcher::SegmentId segment = 0;  ///< 0: the directory cannot be used, so the run cannot begin
  bool is_gone = false;
  std::string trouble = {};  ///< why it could not be made; empty on success
};
struct Looked {
  std::uint64_t number = 0;  ///< matcher::LookRequest::number; 0: the matcher works
  bool is_nobody_able = false;
  // Of a matcher that works:
  std::string host = {};
  std::int64_t process = 0;  ///< its process id
};

using RegistryBody = std::variant<ClientRequest, ConnectionEnded, ViewQuery, RoundDone, LeaseQuery, GetWaits,
                                  CopyNote, SpillDone, Looked, EventNotice, MatcherStatus, GroupCall,
                                  SegmentCalls, Closes, SegmentsMapped, FileNames, TakeSent>;

// To a matcher.

/// The answer to need_segment, and to a LeaseQuery. For a client, the matcher completes it to a SegmentGrant.
struct Granted {
  matcher::SegmentId segment = 0;
};
/// Where the bytes of a file are that was written by the C library: a step, or a file that is still open.
struct FileSource {
  std::uint32_t matcher = 0;  ///< rank
  std::uint64_t bytes = 0;    ///< of a step
  std::uint64_t file = 0;     ///< FileRange::file
};
/// The answer to image. The matcher completes it to an ImageMade with the descriptor of the segment.
struct ImageReady {
  matcher::StepId step = 0;
  matcher::SegmentId file = 0;
  std::uint64_t bytes = 0;
  std::optional<FileSource> source = {};  ///< alone: a file that another node has open
};
using Reply = std::variant<Opened, Granted, Done, ErrorReply, ImageReady, Listing, RunView>;
/// The answer to a ClientRequest or a LeaseQuery. The matcher introduces the segment that the reply names.
struct Answer {
  std::uint64_t connection = 0;
  std::uint32_t tag = 0;
  Reply reply;
};
struct HangUp {
  std::uint64_t connection = 0;
  std::string reason;
};
/// In memory; on disk → SpillDone; or as a part of a burst-buffer log.
struct CreateSegment {
  struct InMemory {};
  matcher::SegmentId segment = 0;
  std::uint64_t bytes = 0;
  bool is_image = false;  ///< an empty file, which is to have so many bytes; a file of its own on disk
  std::variant<InMemory, matcher::DiskRoom, LogPlace> place = {};
};
struct ClearSegment {
  matcher::SegmentId segment = 0;
  SegmentUse use{};  ///< the next one
};
/// What grants that follow one another tell a matcher: segments are made and cleared, then granted.
struct GrantSeries {
  /// CreateSegment for each of them.
  struct Made {
    matcher::SegmentRow row;
    std::uint64_t bytes = 0;
  };
  /// An Answer with Granted.
  struct Grant {
    std::uint64_t connection = 0;
    std::uint32_t tag = 0;
    matcher::SegmentId segment = 0;
  };
  /// ClearSegment for each of them.
  struct Cleared {
    matcher::SegmentRow row;
    matcher::SegmentUse use = matcher::SegmentUse::data;
  };
  std::vector<Made> made;
  std::vector<Cleared> cleared;
  std::vector<Grant> grants;

  void add(const CreateSegment& create);
  void add(const ClearSegment& clear);
  void add(const Grant& grant) { grants.push_back(grant); }
};
/// What a GrantSeries has. Images, and what is on disk, are made by messages of their own.
using GrantOrder = std::variant<CreateSegment, ClearSegment, GrantSeries::Grant>;
/// → SpillDone, if it is on disk
struct DestroySegment {
  matcher::SegmentId segment = 0;  ///< 0: the rest of the memory that was made ahead
};
/// Whether the log of the segment keeps its names.
struct KeepLog {
  matcher::SegmentId segment = 0;
  bool is_kept = false;
};
struct MarkGone {
  matcher::SegmentId control = 0;
  std::uint32_t rank = 0;
};
struct View {
  std::uint32_t query = 0;  ///< 0: sent without a query
  matcher::StepId step = 0;
  std::optional<matcher::StepView> view;   ///< none: unchanged
  std::optional<ErrorReply> refusal = {};  ///< why there is none
};
/// The step is gone.
struct StepOver {
  matcher::StepId step = 0;
  /// It is not. It is a file of the matcher; its component goes on in the file by PnetCDF, or at another
  /// matcher.
  bool is_only_outdated = false;
};
/// The file of the step is to be written to the segment, which is an image.
struct ImageOrder {
  matcher::SegmentId file = 0;
  std::uint8_t version = 1;  ///< CDF version of the file
  std::optional<FileSource> source = {};
  bool shows_all = false;  ///< StepImage::shows_all
};
/// A copy of a step as a file, on disk (a drain) or as an image; each part → CopyNote. The step's view came
/// before. A drain's order: the step is complete. Then, where there are several parts, the tables of all
/// nodes; at last, whether all parts are written.
struct MakeCopy {
  matcher::StepId step = 0;
  std::variant<DrainOrder, DrainTables, DrainEnd, ImageOrder> what;
};
/// → Looked
struct Look {
  matcher::LookRequest request;  ///< number 0: whether the matcher works
};
/// A task for all matchers together. Each matcher does its part. It reports when all matchers below it have
/// done theirs, after everything that came before.
struct StartServing {
  std::string spill_directory;       ///< for segments on disk; empty: no segments on disk
  bool may_spill_elsewhere = false;  ///< CoordinatorHello::may_spill_elsewhere
  std::uint64_t prewarm_bytes = 0;   ///< how much memory each matcher makes ahead
  std::uint64_t memory_bytes = 0;    ///< staging.memory
};
/// Sends the counters; the matcher ends when they are sent.
struct ShutDown {};
using RoundTask = std::variant<StartServing, ShutDown, TakeSent>;
struct BeginRound {
  std::uint64_t round = 0;
  RoundTask task;
};

using MatcherBody = std::variant<Answer, HangUp, CreateSegment, ClearSegment, DestroySegment, KeepLog,
                                 MarkGone, View, StepOver, MakeCopy, Look, BeginRound, GrantSeries>;

/// The registry is at this matcher, whose own messages are passed as values.
inline constexpr std::uint32_t registry_rank = 0;
inline constexpr std::uint32_t all_matchers = std::numeric_limits<std::uint32_t>::max();
/// As a receiver: the matchers that are listed beside the message.
inline constexpr std::uint32_t several_matchers = all_matchers - 1;

struct MessageToRegistry {
  std::uint32_t matcher = 0;  ///< rank of the sender
  RegistryBody body;
};
struct MessageToMatcher {
  std::uint32_t matcher = 0;  ///< rank of the receiver, all_matchers or several_matchers
  MatcherBody body;
};

/// One of the receivers of a message to several.
struct Receiver {
  std::uint32_t matcher = 0;     ///< rank
  std::uint32_t tag = 0;         ///< of an Answer
  std::uint64_t connection = 0;  ///< of an Answer
};
/// An encoded MessageToMatcher that several matchers receive, or several connections; an Answer then has no
/// tag and no connection. Shared by the packets in which it travels.
using SharedMessage = std::shared_ptr<const std::vector<std::byte>>;
[[nodiscard]] SharedMessage share(MatcherBody body);

/// Whether an encoded MessageToRegistry is a RoundDone.
[[nodiscard]] bool is_round_done(std::span<const std::byte> encoded) noexcept;

}  // namespace sluice::runtime
