#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/open_files.hpp"
#include "sluice/matcher/published_file.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "sluice/matcher/run_view.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

struct Component;
struct Process;
struct RegistryParts;

/// The datasets, their steps, and the processes that write and read them: docs/architecture.md, "One dataset,
/// from create to get". The registry is pure state: the transport calls it and carries the answers. A
/// malformed request throws Error(NC_EINVAL), or is refused with that status, and does not change the state.
///
/// The class is a front: registry_parts.hpp lists the parts that do the work.
class Registry {
 public:
  Registry(RegistryOptions options, SegmentMemory& memory, RegistryAnswers& answers);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// What has started a process: the run, or a process of the component, for example a shell or a script.
  /// When components start processes, their final number is unknown.
  enum class StartedBy : std::uint8_t { run, component };
  /// A process connects. Its component, token and process id identify it. `place`: the matcher that it
  /// connects to. `rank`: in the component's MPI_COMM_WORLD. Throws Error(NC_EINVAL) when the node does not
  /// exist.
  ProcessId connect(const std::string& component, std::uint64_t token, std::uint32_t process_id,
                    MatcherPlace place = {}, StartedBy started_by = StartedBy::run,
                    std::int32_t rank = no_rank);
  /// Whether the process has another matcher than that one, which has only its files then.
  [[nodiscard]] bool has_other_matcher(ProcessId process, MatcherPlace place) const;
  /// The last connection of the process is of the matcher itself, which writes a file in the process's name;
  /// and the end of it. The process ends with its last connection and its last file.
  void begin_file(ProcessId process, const WrittenFile& file);
  void end_file(ProcessId process, const WrittenFile& file);
  void note_file(const WrittenFile& file, OpenFiles::Known known);
  /// The file in memory that the process's component has open on another node; connection 0: there is none.
  [[nodiscard]] WrittenFile file_elsewhere(ProcessId process, const DatasetKey& key) const;
  /// The file of that name that has been closed, and is not published yet; connection 0: there is none.
  [[nodiscard]] WrittenFile closed_file(const DatasetKey& key) const;
  /// What a process does with a name.
  struct Use {
    ProcessId process{};
    DatasetKey key;
    bool waits = false;     ///< for a step, if there is none yet
    WrittenFile file = {};  ///< by which it does it
  };
  /// The writer of the file, if processes of it may have closed the file, and not been heard; else empty.
  /// What they have told their matchers comes first then: docs/design/closing-written-files.md.
  [[nodiscard]] std::string may_be_closed_by(const Use& use) const;
  /// With `identity: name`: the file is in another directory now.
  void move_file(const DatasetKey& key, const std::string& from, const std::string& to);
  /// What a group writes there by PnetCDF is published by the other name, of the same rule. A removal of the
  /// former one is to follow. False: nothing can be renamed.
  bool rename_written(const DatasetKey& from, const DatasetKey& to, const std::string& path);
  /// Whether a file of that name, besides that one, is being written by the C library.
  [[nodiscard]] bool is_file_written(const Use& use) const;
  /// Whether each open of the step's name gets this step until somebody begins to write it.
  [[nodiscard]] bool stays(const Step& step) const;
  /// Whether any file is being written.
  [[nodiscard]] bool is_any_written() const;
  /// A connection ends. The process ends with its last connection: the steps that it was writing are
  /// discarded, and the steps that it had open for reading are released. `connection`: as in tickets; 0: any.
  void disconnect(ProcessId process, std::uint64_t connection = 0);
  /// The process that was started for the component has ended. Its files are not published yet, and processes
  /// that it has left may go on.
  void component_ends(const std::string& component);
  /// Every process of the component has ended: the component will send nothing more.
  void component_exited(const std::string& component, const std::string& reason);
  /// The same, and the component is started again: readers go on waiting for its files, and what it had not
  /// read stays for it (ComponentSize::restarts has announced this).
  void component_restarts(const std::string& component, const std::string& reason);
  /// The coordinator has started a job of the component for the step (RegistryAnswers::job_wanted).
  void job_begun(const std::string& component, StepId step);
  /// The job has ended for good, or there will be none: the component has read the step.
  void job_ended(const std::string& component, StepId step);
  /// The same, and the job has done its work.
  void job_done(const std::string& component, StepId step);
  /// Adds a published step of a former run. Call it in the order of publication, before any process connects.
  /// Throws Error(NC_EINVAL) when there is no such rule.
  const Step& restore(const FormerStep& former);
  /// Numbers of steps go on behind those of a former run. Call it before restore().
  void go_on_counting(const FormerCount& former);

  /// `follows`: the file of that name that has been closed before, and is being published. The answer waits
  /// for that.
  /// - read: a process that is attached (attached_name) waits for nothing: it gets the newest published step,
  ///   or the path of a file on disk, or NC_ENOENT.
  /// - describe waits as a read does. The writer component is told about the step that it is writing, and
  ///   refused with NC_EFILE while that step has no header.
  /// - remove waits until the other processes have closed a step that this process has closed, and until a
  ///   drain that has begun ends.
  /// - change and hide throw Error: NC_ENOENT, NC_EPERM; answered when the file counts as removed.
  /// - With Open::taken, rank 0 of a group takes the step, or the read, that the group was offered, for all
  ///   its processes; or it is image(). Throws Error(NC_EINVAL) when it was not offered.
  void open(const Ticket& ticket, ProcessId process, Open request, const WrittenFile& follows = {});
  using Caller = matcher::Caller;
  /// The same of each of them. `request.member.rank` is not used. Who may not make the call is refused.
  void open(std::span<const Caller> callers, Open request, const WrittenFile& follows = {});
  /// Does several requests that have come together. Then waits are looked at once, behind them.
  void in_series(const std::function<void()>& requests);
  /// A request of the process comes soon: brings what is known of it into the cache.
  void expect(ProcessId process) const noexcept;
  /// The same for what is known of its log, after expect().
  void expect_close(ProcessId process, StepId step) const noexcept;
  void need_segment(const Ticket& ticket, ProcessId process, const SegmentRequest& request);
  /// The same of each of them. Who may not have the segment is refused. Caller::rank is not used.
  void need_segments(std::span<const Caller> callers, const SegmentRequest& request);
  /// Answered when space on the disk has become free that the process has not tried yet. Refused with
  /// NC_ENO_SPACE when no process can free any.
  void await_disk(const Ticket& ticket, ProcessId process, DiskRequest request);
  void set_header(const Ticket& ticket, ProcessId process, HeaderRequest request);
  /// Earlier puts are visible to readers when the last process of the group has its answer. Throws
  /// Error(NC_EINVAL) when the rule does not publish at ncmpi_sync.
  void sync(const Ticket& ticket, ProcessId process, const SyncRequest& request);
  /// Throws Error(NC_EPERM) when changes are lost of a dataset that the process may not write. What was there
  /// before them is still there.
  void close(ProcessId process, Close&& close);

  /// A get waits for data that the step's writers have not put yet. The registry itself only refuses the get,
  /// when the data cannot come. A caller that answers the get otherwise calls end_get_wait(). `what`:
  /// GetWait::text.
  void wait_for_puts(const Ticket& ticket, ProcessId process, StepId step, const std::string& what);
  void end_get_wait(const Ticket& ticket);

  /// The progress of the drain that RegistryAnswers::drain() requested. Reports of other drains are ignored.
  void note_drain(StepId step, const DrainProgress& progress);
  /// The drain has ended, with or without success.
  void drained(StepId step, const DrainOutcome& outcome);

  /// The step, for a get of a process that has it open. Throws Error: NC_EBADID when the process does not
  /// have the step open, NC_EIO when the step was discarded.
  [[nodiscard]] const Step& step_for_get(ProcessId process, StepId step);

  /// Whether something may end the wait of somebody, or has to be told to somebody at once.
  [[nodiscard]] bool is_anybody_waiting() const;
  /// Whether the process is in the group that writes the step, and has not closed it.
  [[nodiscard]] bool is_writing(ProcessId process, StepId step) const;
  /// The step, with the logs of a step in progress as they are. Throws as step_for_get() does.
  [[nodiscard]] const Step& step(StepId step);
  /// Leases a segment of the matcher at `place`, for data of the step from other nodes. The step then owns
  /// the segment. Waits as need_segment() does while no memory is free and a process may free some. `reader`:
  /// the process whose get waits for the segment, if any. Throws Error: NC_EBADID or NC_EIO as step(),
  /// NC_ENO_SPACE.
  void lease_inbound(const Ticket& ticket, StepId step, MatcherPlace place, const InboundSize& size,
                     std::optional<InboundReader> reader);
  /// Another get waits for the data for which lease_inbound() requested a segment.
  void join_inbound_wait(StepId step, MatcherPlace place, const InboundReader& reader);
  /// The file that the step stands for, for a program that reads it by the C library and has it open. Made
  /// once for the node, by the matcher of the process; waits as lease_inbound() does.
  void image(const Ticket& ticket, ProcessId process, StepId step);
  /// The image that RegistryAnswers::make_image() asked for is complete, or could not be made.
  void image_made(StepId step, SegmentId file, const DrainOutcome& outcome);
  /// The step is published: makes its image where one of the last step of its rule was asked for.
  void make_images_ahead(StepId step);
  /// SegmentMemory::create_spilled() has ended. `trouble`: why the segment could not be made; empty on
  /// success.
  void spill_made(SegmentId segment, const std::string& trouble);
  /// Another matcher has destroyed its segment on disk.
  void spill_gone(SegmentId segment);

  /// The process has sent something: what looks have seen of it, or are about to tell, is outdated.
  void note_act(ProcessId process);
  /// The answer to LookRequest. Ignored when the processes have resumed since.
  void looked(std::uint64_t number, bool is_idle);
  /// Call this from time to time: reports waits that look hopeless but are not proved to be, and looks again.
  void look_again();
  /// Looks again, and reports nothing.
  void look_at_others();

  /// The run is about to end: logs of steps that have not reached their files keep their names.
  void keep_unfinished_logs();

  void note(ProcessId process, const Note& note);

  /// The published files that can be had; PublishedFile::bytes stays 0. The list of a directory also has what
  /// has been closed and is not published yet.
  [[nodiscard]] Listing list(const ListRequest& request);
  /// Whether fold_past_files() has something to do.
  [[nodiscard]] bool has_past_files() const;
  /// Of files whose steps have gone, keeps all that is known of RegistryOptions::most_past_files. To be
  /// called when no other call of the registry is going on.
  void fold_past_files();
  [[nodiscard]] StatusReport status() const;
  /// What the run does now. Unlike status(), it costs nothing for what is over.
  [[nodiscard]] RunView view(const WatchRequest& request) const;
  [[nodiscard]] SegmentPool& pool(std::uint32_t node = 0);

 private:
  void add_unpublished(const ListRequest& request, Listing& listing) const;

  void end_if_gone(ProcessId process);
  void end_processes(Component& component, const std::string& reason);
  void end_process(ProcessId id, const std::string& reason);
  void create_offered(ProcessId process, const Open& open);
  void read_offered(ProcessId process, const Open& open);
  void change_file(const Ticket& ticket, Process& caller, const Open& request);
  void end(Process& caller, PublishRequest& request);
  void end(Process& caller, const ReadEnd& request);
  void end(Process& caller, const Discard& request);
  void lose_changes(Component& component, const DatasetKey& key);
  void finish_ended(Group& group, const std::vector<std::uint32_t>& ended);
  static void unpack_if_open(Step* step);
  void go_on(Group& group, std::uint32_t rank);
  void leave(Group& group, std::uint32_t rank, const FileUse& use);

  std::unique_ptr<RegistryParts> parts_;
};

}  // namespace sluice::matcher
