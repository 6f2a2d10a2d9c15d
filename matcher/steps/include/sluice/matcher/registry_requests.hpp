#pragma once
// Requests to the registry, and the interface for its answers.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sluice/matcher/client_requests.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/offer_board.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// A step that a former run has published, and whose data is in a file (sluice run --resume).
struct FormerStep {
  DatasetKey key;
  std::string path;  ///< as in Open
  std::string file;  ///< the file with its data
  std::uint8_t version = 1;
  std::set<std::string> readers = {};  ///< that have read it
  std::uint64_t number = 0;            ///< Step::number; 0: the next one
  std::uint64_t number_in_rule = 0;    ///< Step::number_in_rule; 0: the next one
};

/// How many steps former runs have published: of a stream, or of a rule where the key has no name.
struct FormerCount {
  DatasetKey key;
  std::uint64_t steps = 0;
};

/// Asks whether a process, or any process of a component, may still act.
struct LookRequest {
  std::uint64_t number = 0;
  std::uint32_t node = 0;
  std::uint32_t index = 0;               ///< of the matcher on that node
  std::string component;                 ///< the whole component; empty: the one process
  std::vector<std::uint32_t> processes;  ///< process ids in the operating system: the waiting processes
  bool has_ended = false;                ///< the process that the coordinator has started for the component
};

/// Receives the registry's answers. Every request with a ticket is answered exactly once, at once or later,
/// unless its process ends. Implementations must not call the registry.
class RegistryAnswers {
 public:
  virtual ~RegistryAnswers() = default;
  virtual void created(const Ticket& ticket, const Step& step) = 0;
  /// The same for several processes of a group. Those of a matcher mostly come one behind the other.
  virtual void created_all(std::span<const Ticket> tickets, const Step& step) {
    for (const Ticket& ticket : tickets) created(ticket, step);
  }
  /// `step` for reading: a published step. For writing: a step in progress, with the header and record count
  /// of the step that it continues.
  virtual void opened(const Ticket& ticket, const Step& step) = 0;
  /// As created_all().
  virtual void opened_all(std::span<const Ticket> tickets, const Step& step) {
    for (const Ticket& ticket : tickets) opened(ticket, step);
  }
  /// The data to read is only in a file, and no matcher keeps anything of it.
  virtual void opened_file(const Ticket& ticket, const std::string& path) = 0;
  /// The CDF version of the file that the dataset stands for.
  virtual void described(const Ticket& ticket, std::uint8_t version) = 0;
  /// Answer to need_segment() and lease_inbound().
  virtual void granted(const Ticket& ticket, const SegmentLease& segment) = 0;
  /// Answer to await_disk(): the number of times that disk space has been returned.
  virtual void disk_freed(const Ticket& ticket, std::uint64_t given_back) = 0;
  /// Answer to image(): the file is complete.
  virtual void image_ready(const Ticket& /*ticket*/, const Step& /*step*/, const StepImage& /*image*/) {}
  /// The matcher that owns the segment of the image is to make it, and to report by Registry::image_made().
  /// The step is not erased before that.
  virtual void make_image(const Step& /*step*/, const StepImage& /*image*/) {}
  virtual void done(const Ticket& ticket) = 0;
  virtual void refused(const Ticket& ticket, int status, const std::string& text) = 0;
  /// The group has created the step by an offer, so nobody waits for an answer.
  virtual void begun(const Step& /*step*/) {}
  /// The step is complete, and readers may see it.
  virtual void published(const Step& /*step*/) {}
  /// The reader has read the step to its end, or needs it no longer.
  virtual void read(const Step& /*step*/, const std::string& /*reader*/) {}
  /// The file has all of the published step.
  virtual void on_disk(const Step& /*step*/, const std::string& /*file*/) {}
  /// The writer has given the step up by itself: it is no loss.
  virtual void given_up(const Step& /*step*/) {}
  /// The dataset was removed by its writer.
  virtual void removed(const DatasetKey& /*key*/) {}
  /// The component (JobReader) is to have a job for the published step, or to skip it. In both cases
  /// Registry::job_ended() follows.
  virtual void job_wanted(const std::string& /*component*/, const Step& /*step*/) {}
  /// The complete step is to be written to its file. The step does not change until Registry::drained().
  virtual void drain(const Step& /*step*/) {}
  /// Look at processes whose connections all wait, and report through Registry::looked().
  virtual void look(const LookRequest& /*request*/) {}
  /// The step is erased; its segments return to their pools now.
  virtual void erased(StepId step) = 0;
  /// A line for the event log.
  virtual void event(const std::string& text) = 0;
  /// A line of little interest to a user who watches the run.
  virtual void detail(const std::string& text) { event(text); }
};

/// The default size of consumed steps whose memory is not lent to the next writers at once: an eighth of the
/// memory, at most 16 MiB.
[[nodiscard]] constexpr std::uint64_t default_retain_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t most_bytes = 16ULL << 20;
  return memory_bytes / 8 < most_bytes ? memory_bytes / 8 : most_bytes;
}

/// Whether closed logs are kept as bytes.
struct PackingChoice {
  const LogPacking* packing = nullptr;  ///< outlives the registry; null: no logs are packed
  /// Of a step with fewer logs they are kept as they are: it may be offered.
  std::size_t least_logs = OfferBoard::most_ranks + 1;
};

struct RegistryOptions {
  std::vector<FileRule> rules;
  std::vector<ComponentSize> components;
  std::uint64_t memory_bytes = 0;         ///< for each node
  std::function<std::uint64_t()> now_ms;  ///< a monotonic clock
  std::uint64_t retain_bytes =
      default_retain_bytes(memory_bytes);  ///< for each node: consumed steps that stay readable
  std::uint32_t nodes = 1;
  std::string spill_directory = {};  ///< for segments on disk; empty: no segments on disk
  WarmShares warm = {};              ///< for each node: memory that its matchers make ahead
  std::string directory = {};        ///< messages name files below this directory relative to it
  std::vector<JobReader> job_readers = {};
  /// Files whose steps have gone, and about which everything is known still; of older ones, little is.
  std::size_t most_past_files = 10'000;
  /// So many of the older ones are remembered at all.
  std::size_t least_folded_files = 200'000;
  OfferBoard* offers = nullptr;  ///< outlives the registry; null: no steps are offered ahead
  PackingChoice packing = {};
};

/// A segment for data of other nodes, or for an image.
struct InboundSize {
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;  ///< preferred size
  bool is_ahead = false;           ///< nobody waits for it yet: refused where others would wait
  SegmentUse use = SegmentUse::data;
};

/// The process whose get waits for data of other nodes.
struct InboundReader {
  ProcessId process{};
  std::uint64_t connection = 0;  ///< the process's connection: a get waits once, for any number of segments
};

/// A get that waits for puts of a step in progress (publish: write), or who waits until all of it is there.
struct GetWait {
  Ticket ticket;
  ProcessId process{};
  StepId step = 0;
  std::string text;  ///< what it waits for: "'wave.nc' (variable h)"
  std::uint64_t since_ms = 0;
  bool is_for_image = false;  ///< to read it as a file
};

/// The progress of a drain.
struct DrainProgress {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// The result of a drain, or of making an image.
struct DrainOutcome {
  int status = 0;    ///< NC_NOERR: the file is complete, and on storage after a drain
  std::string text;  ///< the reason for a failure
  std::uint64_t bytes = 0;
};

}  // namespace sluice::matcher
