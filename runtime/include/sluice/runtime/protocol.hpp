#pragma once
// The messages between a client process (or the coordinator) and a matcher rank. docs/architecture.md,
// "Messages".
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::runtime {

/// Raised by every change of a message or of the request table. Both sides compare it in the handshake.
inline constexpr std::uint32_t protocol_version = 16;

/// Message types. Sockets are AF_UNIX SOCK_SEQPACKET: one packet is one message. A packet is: u16 type, u16
/// flags, u32 tag, then the fields of the struct of that name in order (integers little-endian; strings and
/// byte arrays with a u32 length (u64 for header, plans) before them). A message of more than 64 KiB carries
/// its fields in an attached memfd (flag 1; the packet then holds u64 length only).
enum class MessageType : std::uint16_t {
  // client → matcher, each answered by the type named (or by `error`) unless "no answer"
  hello = 1,           // → welcome
  create = 2,          // → created
  open_write = 3,      // → opened
  open_read = 4,       // → opened
  need_segment = 5,    // → segment
  header = 6,          // → done: what follows from other processes of the group finds it there
  publish = 7,         // no answer
  discard = 8,         // no answer
  close_read = 9,      // no answer
  get = 10,            // → plans
  remove = 11,         // → done
  sync = 13,           // → done
  put_notice = 14,     // no answer
  inquire = 15,        // → described
  await_room = 16,     // → room: it may be held back
  ordinary_file = 18,  // no answer
  several = 17,        // each of them is taken and answered as if it had come by itself
  // matcher → another matcher of its node
  fetch_segment = 12,  // → segment, with tag 0
  // matcher → client
  welcome = 32,
  created = 33,
  opened = 34,
  segment = 35,
  plans = 36,
  done = 37,
  error = 38,
  described = 40,
  room = 41,
  drop_segments = 39,  // notice: may come before any answer; the client unmaps them
  // coordinator → matcher
  coordinator_hello = 64,  // → ready
  component_exited = 65,   // no answer
  status_query = 66,       // → status
  shutdown = 67,           // → status (final figures), then the matcher exits
  // matcher → coordinator
  ready = 96,
  status = 97,
  event = 98,  // notice: a line for the event log
};

/// Parts of messages that the registry knows as well; their fields on the wire are in the order of the
/// struct, as everywhere.
using matcher::AccessCounters;
using matcher::ComponentSize;
using matcher::DatasetKey;
using matcher::DatasetStatus;
using matcher::DrainStatus;
using matcher::FileRule;
using matcher::Fingerprint;
using matcher::KeptLogs;
using matcher::LogPattern;
using matcher::LogPlace;
using matcher::LogRange;
using matcher::LogShift;
using matcher::MatcherStatus;
using matcher::Member;
using matcher::OrdinaryFile;
using matcher::PublishAt;
using matcher::RuleStatus;
using matcher::SegmentUse;
using matcher::StatusReport;
using matcher::StepPattern;
using matcher::TablePosition;
using matcher::WaitStatus;

/// First message of a connection. A process may have several connections (threads); `process_token` (random)
/// ties them together.
struct Hello {
  std::uint32_t protocol = protocol_version;
  std::string library_version;
  std::uint64_t process_token = 0;
  std::uint32_t process_id = 0;
  std::string component;
  bool is_child_of_component = false;  ///< another process of the run has started it
};

struct Welcome {
  std::uint32_t protocol = protocol_version;
  std::string library_version;
  std::uint32_t matcher_rank = 0;
  std::uint32_t node = 0;
};

struct Create {
  DatasetKey key;
  Member member;
  bool no_clobber = false;
  std::uint8_t version = 1;  ///< CDF version that the user asked for
  std::string path = {};     ///< absolute, of the file that it stands for
  bool is_import = false;    ///< begins with what the file has: NC_EEXIST where there is a step by now
};

/// `control` is the segment of the group's control block (control_block.hpp); if this process has not had it,
/// a `segment` message with tag 0 and the descriptor comes before.
struct Created {
  std::uint64_t step = 0;
  std::uint64_t control = 0;
  PublishAt publish_at = PublishAt::close;
};

/// open_read and open_write.
struct Open {
  DatasetKey key;
  Member member;
  std::string path = {};        ///< as in Create
  bool is_on_disk = false;      ///< the file is there
  std::uint64_t continues = 0;  ///< open_write: matcher::OpenRequest::continues
};

/// What is the dataset that an open for reading would find? It is not opened. `member`: a group of one.
struct Inquire {
  DatasetKey key;
  Member member;
  std::string path = {};    ///< as in Open
  bool is_on_disk = false;  ///< as in Open
};

struct Described {
  std::uint8_t version =
      1;  ///< CDF version of the file that it stands for; 0: the file that is on disk tells
};

/// Answer to open_read and open_write. For open_write `control` is set, `step` is the new step, and of
/// `pattern` only base_record and last_put are there. For open_read, `ranges` locates log data that this
/// process needed in the last step of the same pattern (segments as in Plans). Where `step` is 0 there is
/// nothing but the file at `path`, which nobody here looks after.
struct Opened {
  std::uint64_t step = 0;
  std::uint64_t control = 0;
  std::uint8_t version = 1;  ///< CDF version of the file that it stands for
  std::int64_t record_count = 0;
  std::vector<std::byte> header;  ///< CDF-5 encoding
  StepPattern pattern = {};
  std::vector<LogRange> ranges = {};
  PublishAt publish_at = PublishAt::close;
  std::uint64_t origin = 0;  ///< of the steps that continue one another, the first
  std::string path =
      {};  ///< where the data is in files: the file, as its writer named it; there is no header
  bool is_continued = false;  ///< to a writer: each process goes on in the log that it wrote last
  std::vector<std::uint64_t> first_offsets = {};  ///< where data of own logs begins; none: at 0 in all
};

/// Ask for memory for the write log of this process in `step`: at least `bytes`. Before it grants one, the
/// matcher zeroes word 0 of a table and the whole of a control block (a recycled segment holds old contents).
/// Table chunks of a process follow one another in the order in which they were granted.
struct NeedSegment {
  std::uint64_t step = 0;
  SegmentUse use = SegmentUse::data;
  std::uint64_t bytes = 0;         ///< without so many it cannot go on
  std::uint64_t wanted_bytes = 0;  ///< better so many, if they are there without a wait
  /// A part of a burst-buffer log in place of memory: `bytes` of its data file, reserved by this process.
  LogPlace log = {};
  bool is_ahead = false;  ///< of any put: refused rather than waited for, and where memory is short
};

/// The disk has no room for `bytes` more in this process's burst-buffer log.
struct AwaitRoom {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seen = 0;  ///< Room::given_back as it was told before the last try; 0: it was not
  std::string trouble;     ///< what the system says
};

/// Some of the disk may have been given back: how often by now.
struct Room {
  std::uint64_t given_back = 0;
};

/// A segment: so many bytes of its file, from an offset on. The descriptor of that is attached when this
/// connection has not had it before (`has_descriptor`), with each segment where the file has no number.
/// `has_cheap_faults`: its pages were made ahead, or are huge.
struct SegmentGrant {
  std::uint64_t segment = 0;
  std::uint64_t bytes = 0;
  bool has_descriptor = false;
  std::uint64_t offset_bytes = 0;
  bool is_of_log = false;
  bool has_cheap_faults = false;
  std::uint64_t file = 0;  ///< SegmentExtent::file
};

/// What is asked in one breath: the matcher wakes up once.
struct Several {
  struct Request {
    MessageType type = MessageType::several;
    std::uint32_t tag = 0;
    std::vector<std::byte> fields;
  };
  std::vector<Request> requests;
};

/// From rank 0 at enddef and when metadata changed before publishing.
struct HeaderUpdate {
  std::uint64_t step = 0;
  std::vector<std::byte> header;
  Fingerprint structure = {};  ///< matcher::structure_of the header
};

/// This process has called ncmpi_sync: readers see what it has put so far when all of the group have said so
/// (publish: sync).
struct Sync {
  std::uint64_t step = 0;
  TablePosition position;  ///< the end of its request table
  std::int64_t record_count = 0;
  Fingerprint requests = {};  ///< LogPattern::requests so far
};

/// This process has put something, and the control block said that a get waits for it (publish: write).
struct PutNotice {
  std::uint64_t step = 0;
};

/// This process is done writing (close). When all of the group have said so, the step is complete.
struct Publish {
  std::uint64_t step = 0;
  std::int64_t record_count = 0;
  AccessCounters counters;
  LogPattern pattern = {};
  std::vector<LogRange> ranges = {};  ///< where all of its log's data is; `writer` does not count
  TablePosition position = {};        ///< the end of its request table
};

/// ncmpi_abort, or a close that cannot publish.
struct Discard {
  std::uint64_t step = 0;
  bool is_untouched = false;  ///< where the data is in files: the file is as it was before the step
};

struct CloseRead {
  std::uint64_t step = 0;
  AccessCounters counters;
};

/// Hyperslabs of so many dimensions (of none: one at most): of each its starts, its counts and (if they have
/// them) its strides.
struct ReadList {
  std::uint64_t slabs = 0;
  std::uint32_t dimensions = 0;
  bool has_strides = false;
  std::vector<std::int64_t> numbers;
};
/// One read access: a list of hyperslabs of one variable with one dense destination.
struct ReadAccess {
  std::int32_t varid = 0;
  std::uint32_t list = 0;  ///< of Get::lists; accesses may share one
};
/// Without accesses: for the number of records alone. `is_by_writer`: the own group is writing the step; it
/// sees all that was put, and does not wait for more.
struct Get {
  std::uint64_t step = 0;
  std::vector<ReadList> lists = {};
  std::vector<ReadAccess> accesses = {};
  bool is_by_writer = false;
};

/// An access's plan: number `plan` of those in the answer, with writers' log offsets moved (ascending
/// writers).
struct PlanUse {
  std::uint32_t plan = 0;
  std::vector<LogShift> shifts;
};

/// Answer to get: encoded plans (replay::Plan), and for each access which one is its own; `ranges` locates
/// all log data that the plans use and that this process has not been told of for this step. Segments whose
/// descriptors the process lacks were sent before, as `segment` messages with tag 0. A process forgets the
/// ranges of a step when it has closed it (publish, discard, close_read) as often as it has created or opened
/// it; then they are told anew.
struct Plans {
  std::vector<LogRange> ranges;
  std::vector<std::byte> plans;
  std::int64_t record_count = 0;  ///< that readers see now
  std::vector<PlanUse> uses = {};
};

struct Remove {
  DatasetKey key;
  std::string path = {};  ///< as in Create
};

/// Any request can be answered by this. `text` says what, where and what to do.
struct ErrorReply {
  std::int32_t status = 0;
  std::string text;
};

/// The answer has no descriptor when the segment is no more.
struct FetchSegment {
  std::uint64_t segment = 0;
};

struct DropSegments {
  std::vector<std::uint64_t> segments;
};

/// The rules and the components of the workflow, for the matcher.
struct CoordinatorHello {
  std::uint32_t protocol = protocol_version;
  std::vector<FileRule> rules;
  std::vector<ComponentSize> components;  ///< of all components; processes as started; 0: not known
  std::uint64_t memory_bytes = 0;         ///< staging.memory
  std::uint64_t retain_bytes = 0;         ///< staging.retain
  std::string spill_directory = {};       ///< for what finds no room in memory, absolute; empty: none
  bool may_spill_elsewhere = false;       ///< a node that cannot use it finds another one
  std::uint64_t prewarm_bytes = 0;        ///< staging.prewarm
  bool prewarms_huge_pages_only = false;  ///< where memory has others, nothing is made ahead
  std::string directory = {};  ///< of the workflow, without symbolic links: names are told from there
};

/// Every process of the component has been waited for.
struct ComponentExited {
  std::string component;
  std::string reason;  ///< "exited with status 1", "was killed by signal 9 (SIGKILL)"
};

struct EventNotice {
  std::string text;
  bool is_detail = false;  ///< for the log, and for who asks for every event
};

}  // namespace sluice::runtime
