#pragma once
// The messages between a client process (or the coordinator) and a matcher: docs/protocol.md.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/matcher/client_requests.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/published_file.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/run_view.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step_pattern.hpp"

namespace sluice::runtime {

/// Raise this number with every change of a message or of the request table. Both sides compare it in the
/// handshake.
inline constexpr std::uint32_t protocol_version = 46;

/// The type of a message: messages.def has them all. Sockets are AF_UNIX SOCK_SEQPACKET: one packet is one
/// message. A packet has u16 type, u16 flags and u32 tag. The fields of the message's struct follow in order.
/// Integers are little-endian. Strings and byte arrays have a u32 length before them, header and plans a u64
/// length. A message of more than 64 KiB has its fields in an attached memory file; then flag 1 is set, and
/// the packet holds only a u64 length.
enum class MessageType : std::uint16_t {
#define SLUICE_MESSAGE_ROW(number, name) name = number,
#include "sluice/runtime/messages.def"
};

/// Messages and parts of messages that the registry itself takes or makes.
using matcher::AccessCounters;
using matcher::Activity;
using matcher::Close;
using matcher::Complaint;
using matcher::ComponentSize;
using matcher::CopyNotice;
using matcher::DatasetKey;
using matcher::DatasetStatus;
using matcher::Discard;
using matcher::DiskRequest;
using matcher::DrainStatus;
using matcher::FileRule;
using matcher::Fingerprint;
using matcher::Gathering;
using matcher::GatheringStatus;
using matcher::HeaderRequest;
using matcher::JobReader;
using matcher::KeptLogs;
using matcher::Listing;
using matcher::ListRequest;
using matcher::LogPattern;
using matcher::LogPlace;
using matcher::LogRange;
using matcher::LogShift;
using matcher::MatcherStatus;
using matcher::Member;
using matcher::Note;
using matcher::Open;
using matcher::OrdinaryFile;
using matcher::PartlyRead;
using matcher::PublishAt;
using matcher::PublishedFile;
using matcher::PublishRequest;
using matcher::Purpose;
using matcher::ReadEnd;
using matcher::ReaderMode;
using matcher::ReaderStatus;
using matcher::RuleStatus;
using matcher::RunView;
using matcher::SegmentRequest;
using matcher::SegmentUse;
using matcher::SilentMatcher;
using matcher::StatusReport;
using matcher::StepEnd;
using matcher::StepPattern;
using matcher::SyncRequest;
using matcher::TablePosition;
using matcher::WaitStatus;
using matcher::WatchRequest;

/// The first message of a connection. A process may have several connections (threads); a random
/// `process_token` ties them together.
struct Hello {
  std::uint32_t protocol = protocol_version;
  std::string library_version;
  std::uint64_t process_token = 0;
  std::uint32_t process_id = 0;
  std::string component;
  bool is_child_of_component = false;  ///< another process of the run has started it
  bool is_for_file = false;  ///< by the matcher, for a file that the process writes by the C library
  std::int32_t rank = matcher::no_rank;  ///< in the component's MPI_COMM_WORLD, as its launcher says
};

struct Welcome {
  std::uint32_t protocol = protocol_version;
  std::string library_version;
  std::uint32_t matcher_rank = 0;
  std::uint32_t node = 0;
};

/// Steps of the rule are offered to this process as a rank of a group of that size. `page`: the segment of
/// the page of offers. `written`: 0, or the page of the writers whose steps are offered for reading. These
/// segments come before as `segment` messages with tag 0.
struct OffersNotice {
  std::uint64_t page = 0;
  std::uint32_t rule = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint64_t written = 0;
};

/// The answer to an open. `control` is the segment of the group's control block (control_block.hpp). If this
/// process does not have the segment yet, a `segment` message with tag 0 and the descriptor comes before. Of
/// a create, only `step`, `control` and `publish_at` are set. To describe, only `version` is set: 0: see the
/// file on disk; matcher::no_cdf_version: a file of another format. For writing `control` is set, `step` is
/// the new step, and `pattern` has only base_record and last_put. For reading, `ranges` locates log data that
/// this process needed in the last step of the same pattern (segments as in Plans). When `step` is 0, there
/// is only the file at `path`, which no matcher manages.
struct Opened {
  std::uint64_t step = 0;
  std::uint64_t control = 0;
  std::uint8_t version = 1;  ///< CDF version of the file that it stands for; 0: a file of another format
  std::int64_t record_count = 0;
  std::vector<std::byte> header = {};  ///< CDF-5 encoding
  StepPattern pattern = {};
  std::vector<LogRange> ranges = {};
  PublishAt publish_at = PublishAt::close;
  std::uint64_t origin = 0;  ///< the first of the steps that continue one another
  std::string path = {};     ///< when the data is in files: the file, as its writer named it; no header
  bool stays =
      false;  ///< a writer: in the log that it wrote last; a reader: at this step, until it is written
  /// where data of the step's own logs begins; empty: at 0 in all logs
  std::vector<std::uint64_t> first_offsets = {};
  bool is_in_files = false;         ///< the data is in the file at `path`, whatever the rule says
  std::uint64_t base = 0;           ///< for a writer: the step that the new one contains
  std::uint64_t stream_number = 0;  ///< for a reader of a stream: the step's number in it, from 1
};

/// A segment: a range of bytes in a file. The file's descriptor is attached when this connection has not had
/// it before (`has_descriptor`). A file without a number comes with each of its segments. `has_cheap_faults`:
/// the pages were made ahead, or are huge.
struct SegmentGrant {
  std::uint64_t segment = 0;
  std::uint64_t bytes = 0;
  bool has_descriptor = false;
  std::uint64_t offset_bytes = 0;
  bool is_of_log = false;
  bool has_cheap_faults = false;
  std::uint64_t file = 0;  ///< SegmentExtent::file
};

/// Several requests in one message, so that the matcher wakes up once.
struct Batch {
  struct Request {
    MessageType type = MessageType::batch;
    std::uint32_t tag = 0;
    std::vector<std::byte> fields;
  };
  std::vector<Request> requests;
};

/// This process has put data, and the control block said that a get waits for it (publish: write).
struct PutNotice {
  std::uint64_t step = 0;
};

/// This process is about to create the files of a burst-buffer log, or has removed them. Its matcher removes
/// the files of a process that ends before the log has a segment.
struct LogNotice {
  std::string metadata_path;  ///< absolute
  bool is_removed = false;
};

/// Hyperslabs with the same number of dimensions (0 dimensions: at most one hyperslab). For each hyperslab:
/// its starts, its counts and, if present, its strides.
struct ReadList {
  std::uint64_t slabs = 0;
  std::uint32_t dimensions = 0;
  bool has_strides = false;
  std::vector<std::int64_t> numbers;
};
/// One read access: a list of hyperslabs of one variable with one dense destination.
struct ReadAccess {
  std::int32_t varid = 0;
  std::uint32_t list = 0;  ///< index in Get::lists; accesses may share a list
};
/// Reads the accesses. A get without accesses asks only for the number of records. `is_by_writer`: the
/// process's own group is writing the step. It sees all puts, and does not wait for more.
struct Get {
  std::uint64_t step = 0;
  std::vector<ReadList> lists = {};
  std::vector<ReadAccess> accesses = {};
  bool is_by_writer = false;
};

/// The plan of an access: number `plan` in the answer, with writers' log offsets moved (ascending writers).
struct PlanUse {
  std::uint32_t plan = 0;
  std::vector<LogShift> shifts;
};

/// The answer to get: encoded plans (replay::Plan), and the plan of each access. `ranges` locates all log
/// data that the plans use and that this process does not know for this step. Segments whose descriptors the
/// process lacks are sent before, as `segment` messages with tag 0. A process forgets the ranges of a step
/// when it has closed the step (`close`) as often as it has created or opened it. The
/// matcher then sends them again.
struct Plans {
  std::vector<LogRange> ranges;
  std::vector<std::byte> plans;
  std::int64_t record_count = 0;  ///< the number that readers see now
  std::vector<PlanUse> uses = {};
};

/// The descriptor of the file is attached. Nobody changes it any more; a memory file is sealed.
/// Without a descriptor when only a file has the data.
struct ImageMade {
  std::uint64_t bytes = 0;
  // Of an open that wants bytes:
  std::string path = {};    ///< the file that has the data; empty: the memory file has it
  std::uint64_t step = 0;   ///< of the image
  bool grows = false;       ///< the next image of the step may have other bytes
  std::uint64_t count = 0;  ///< as FileOpened::count
};

/// A process of the writer opens a file by the C library: docs/design/written-files.md.
struct OpenFile {
  DatasetKey key;
  std::string path;               ///< as in Open
  bool is_on_disk = false;        ///< a file of that name is there, from before the run
  std::uint32_t flags = 0;        ///< of open(2)
  std::uint32_t permissions = 0;  ///< of a new file
  std::uint32_t closes = 1;       ///< FileRule::closes
  bool is_in_files = false;       ///< matcher::is_in_files: what is published is a file on disk
  bool is_in_place = false;       ///< matcher::is_written_in_place: that is the file that is written
  bool is_adopted = false;        ///< it is the file on disk, which loses its name there
  bool is_renamed = false;        ///< it takes the place of what has the name, also of what is being written
  bool is_by_mpi_io = false;      ///< so processes of other matchers may open the same file
  bool is_shown_at_sync = false;  ///< ClientRule::is_shown_at_sync
  std::string save_in = {};       ///< directory where it is saved at an fsync; empty: it is not
};
/// The descriptor is attached: opened with the flags, for this process alone. `is_ordinary`: the run has no
/// such file, and the process uses the disk. `names`: that the file has in the run. `count`: of NameCounts,
/// as long as the path leads to this file; 0: nobody knows how long.
struct FileOpened {
  bool is_ordinary = false;
  std::uint32_t names = 1;
  std::uint64_t count = 0;
};

/// A file of the operating system, whatever name or descriptor it has: st_dev and st_ino. File systems number
/// their files each for itself, so one of the two is not enough.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t file = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// The process has files open that it may write (`holds`), because it was started with them; or it has closed
/// them for the last time, or is about to become another program (`is_by_exec`). `changed`: it closes its
/// only file in a moment, and may have changed these parts of it, each with its begin and end; nothing: any.
struct FileHolder {
  bool holds = false;
  std::vector<FileIdentity> files;
  bool is_by_exec = false;
  std::optional<std::vector<std::uint64_t>> changed = {};
};

/// A file that the component writes by the C library gets another name, or one more, or goes to the disk.
struct NameFile {
  enum class How : std::uint8_t {
    rename,
    exchange,  ///< both are there, and each gets the other's name
    link,
    land,  ///< `to.path` is an empty file on disk, which gets the bytes: now, and at the last close
  };
  How how = How::rename;
  OpenFile from, to;
  bool must_be_new = false;  ///< NC_EEXIST where `to` is there
};
/// The write hint (F_SET_RW_HINT) of a file that has a name on disk, too: who closes it sends AwaitFile.
constexpr std::uint64_t mark_of_landing = 5;
/// Of a process that has closed the file, which has a name on disk; or that has called fsync, or its like,
/// for a file that is being written.
struct AwaitFile {
  FileIdentity file;
  bool is_synced = false;  ///< the second of the two
};

/// The answer to a request that asks for nothing else.
struct Done {
  std::uint64_t given_back = 0;  ///< to await_disk: how often disk space may have been returned so far
};

/// Can answer any request. `text` says what failed, where, and what to do.
struct ErrorReply {
  std::int32_t status = 0;
  std::string text;
};

/// The answer has no descriptor when the segment no longer exists.
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
  /// all components, with their numbers of processes at start (0: not known) and of restarts
  std::vector<ComponentSize> components;
  std::uint64_t memory_bytes = 0;         ///< staging.memory
  std::uint64_t retain_bytes = 0;         ///< staging.retain
  std::string spill_directory = {};       ///< absolute path for data that does not fit in memory; empty: none
  bool may_spill_elsewhere = false;       ///< a node that cannot use this directory may choose another one
  std::uint64_t prewarm_bytes = 0;        ///< staging.prewarm
  bool prewarms_huge_pages_only = false;  ///< nothing is made ahead where memory has no huge pages
  /// of the workflow, without symbolic links: names in messages are relative to it
  std::string directory = {};
  std::vector<JobReader> job_readers = {};  ///< components that are started once for each file
  std::string step_record = {};  ///< absolute path of the record of steps, which exists; empty: none
};

/// A component wants a job for a published file.
struct FilePublished {
  std::string component;
  std::uint64_t step = 0;
  std::string path;          ///< absolute
  std::uint64_t number = 0;  ///< among the published files of its rule, from 1
};

/// What becomes of the job of a component for a step.
struct JobNote {
  enum class State : std::uint8_t {
    begun,
    ended,  ///< for good
    done,   ///< the same, and well: the component has read the file
  };
  std::string component;
  std::uint64_t step = 0;
  State state = State::begun;
};

/// The answer to ComponentExited: all files that the component has published were told. When it starts again,
/// the processes that it had are forgotten, and a process that connects now is of its next start.
struct ComponentSettled {
  std::string component;
  bool starts_again = false;
};

/// The coordinator has waited for every process of the component.
struct ComponentExited {
  std::string component;
  std::string reason;  ///< "exited with status 1", "was killed by signal 9 (SIGKILL)"
  bool starts_again = false;
};

struct EventNotice {
  std::string text;
  bool is_detail = false;  ///< only for the log, and for users who ask for every event
};

}  // namespace sluice::runtime
