#pragma once
// What is asked of the registry, and where its answers go.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// Whether anybody may act of a process, or of a component.
struct LookRequest {
  std::uint64_t number = 0;
  std::uint32_t node = 0;
  std::uint32_t index = 0;               ///< of the matcher, on that node
  std::string component;                 ///< all of it; empty: the one process
  std::vector<std::uint32_t> processes;  ///< of the operating system: that wait
};

/// Where the registry's answers go. Every request with a ticket is answered exactly once, at once or later,
/// unless its process ends. Implementations must not call the registry back.
class RegistryAnswers {
 public:
  virtual ~RegistryAnswers() = default;
  virtual void created(const Ticket& ticket, const Step& step) = 0;
  /// `step` for reading: published. For writing: in progress, with the header and record count of the one
  /// that it continues.
  virtual void opened(const Ticket& ticket, const Step& step) = 0;
  /// What is to be read is in a file only, and nobody keeps anything of it here.
  virtual void opened_file(const Ticket& ticket, const std::string& path) = 0;
  /// The CDF version of the file that the dataset stands for.
  virtual void described(const Ticket& ticket, std::uint8_t version) = 0;
  virtual void granted(const Ticket& ticket, const SegmentLease& segment) = 0;
  /// To await_room(): how often some of the disk has been given back.
  virtual void room(const Ticket& ticket, std::uint64_t given_back) = 0;
  /// To lease_landing().
  virtual void leased(const Ticket& ticket, const SegmentLease& segment) = 0;
  virtual void lease_refused(const Ticket& ticket, int status, const std::string& text) = 0;
  virtual void done(const Ticket& ticket) = 0;
  virtual void refused(const Ticket& ticket, int status, const std::string& text) = 0;
  /// The step is complete, for readers.
  virtual void published(const Step& /*step*/) {}
  /// The complete step is to be written to its file; it stays as it is until Registry::drained().
  virtual void drain(const Step& /*step*/) {}
  /// Processes all of whose connections wait are to be looked at, for Registry::looked().
  virtual void look(const LookRequest& /*request*/) {}
  /// The step is no more; its segments go back to their pools now.
  virtual void erased(StepId step) = 0;
  /// A line for the event log.
  virtual void event(const std::string& text) = 0;
  /// One that is of little interest to who watches the run.
  virtual void detail(const std::string& text) { event(text); }
};

/// Of consumed steps, what is not given to the next writers at once where the user says nothing: an eighth of
/// the memory, at most 16 MiB.
[[nodiscard]] constexpr std::uint64_t default_retain_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t most_bytes = 16ULL << 20;
  return memory_bytes / 8 < most_bytes ? memory_bytes / 8 : most_bytes;
}

struct RegistryOptions {
  std::vector<FileRule> rules;
  std::vector<ComponentSize> components;
  std::uint64_t memory_bytes = 0;         ///< of each node
  std::function<std::uint64_t()> now_ms;  ///< a monotonic clock
  std::uint64_t retain_bytes =
      default_retain_bytes(memory_bytes);  ///< of each node: consumed steps that stay readable
  std::uint32_t nodes = 1;
  std::string spill_directory = {};  ///< for segments on disk; empty: there are none
  WarmShares warm = {};              ///< of each node: what its matchers make ahead
  std::string directory = {};        ///< messages name files below it from there
};

/// A create call.
struct CreateRequest {
  DatasetKey key;
  Member member;
  bool no_clobber = false;
  std::uint8_t version = 1;
  std::string path = {};        ///< absolute, of the file that the dataset stands for
  bool is_import = false;       ///< begins with what the file has: NC_EEXIST where there is a step by now
  bool is_on_disk = false;      ///< of an open or inquiry: OpenRequest::is_on_disk
  std::uint64_t continues = 0;  ///< as in OpenRequest
};

struct OpenRequest {
  DatasetKey key;
  Member member;
  std::string path = {};    ///< as in CreateRequest
  bool is_on_disk = false;  ///< the file is there: its writer gets it, where this run has not made one
  /// open_write: the step whose logs these very processes have written last, each the one of its rank, and
  /// can go on in; 0: there is none. The same of all members.
  StepId continues = 0;
};

struct SegmentRequest {
  StepId step = 0;
  SegmentUse use = SegmentUse::data;
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;  ///< better so many, if they are there without a wait
  LogPlace log = {};               ///< a part of the process's log, of `bytes`, in place of memory
  bool is_ahead = false;           ///< of any put; refused rather than waited for, and where memory is short
};

/// A process finds no room on the disk for what goes to its burst-buffer log.
struct RoomRequest {
  StepId step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seen = 0;    ///< RegistryAnswers::room of the last answer before it tried; 0: there was none
  std::string trouble = {};  ///< what the system says
};

/// What is asked for to land in.
struct LandingSize {
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;  ///< better so many
  bool is_ahead = false;           ///< nobody waits for it yet: it is refused where others would wait
};

/// Whose get waits for what is to land.
struct LandingReader {
  ProcessId process{};
  std::uint64_t connection = 0;  ///< which of the process's: it waits once, for however many segments
};

/// A process's report at its close.
struct CloseRequest {
  StepId step = 0;
  AccessCounters counters;
};

/// A writer's report: what it wrote, as far as the registry needs it.
struct PublishRequest {
  StepId step = 0;
  std::int64_t record_count = 0;
  AccessCounters counters;
  LogPattern pattern = {};
  std::vector<LogRange> ranges = {};
  TablePosition position = {};  ///< the end of what it put in its request table
};

/// A writer's report at ncmpi_sync.
struct SyncRequest {
  StepId step = 0;
  SyncPoint point;
};

/// A get that waits for puts of a step in progress (publish: write).
struct GetWait {
  Ticket ticket;
  ProcessId process{};
  StepId step = 0;
  std::string text;  ///< what it waits for: "'wave.nc' (variable h)"
  std::uint64_t since_ms = 0;
};

/// How far a drain is.
struct DrainProgress {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// How a drain has ended.
struct DrainOutcome {
  int status = 0;    ///< NC_NOERR: the file is there, and on storage
  std::string text;  ///< why not
  std::uint64_t bytes = 0;
};

/// What rank 0 tells at enddef.
struct HeaderRequest {
  StepId step = 0;
  std::vector<std::byte> header;
  Fingerprint structure = {};
};

}  // namespace sluice::matcher
