#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/matcher/consumed_steps.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// The datasets, their steps and who writes and reads them: docs/architecture.md, "One dataset, from create
/// to get". Pure state; the transport calls it and carries the answers. What the caller asks in a way that no
/// well-made client does throws Error(NC_EINVAL) or is refused with it; state is then unchanged.
///
/// registry.cpp: processes, closes, ends; registry_publication.cpp: what readers see of steps in progress;
/// registry_readers.cpp: who has read what; registry_drains.cpp: steps that are written to files;
/// registry_logs.cpp: their burst-buffer logs; registry_files.cpp: those that are in files;
/// registry_removals.cpp: what is deleted; registry_names.cpp: what datasets are called, and which paths are
/// one; registry_opens.cpp: groups and what they get; registry_memory.cpp: segments; registry_grants.cpp: who
/// gets them, and when they are on disk; registry_uses.cpp: who uses which files; registry_waits.cpp: what is
/// held back; registry_status.cpp: status; registry_looks.cpp: what only looks hopeless; wait_analysis.hpp:
/// what can never come.
class Registry {
 public:
  Registry(RegistryOptions options, SegmentMemory& memory, RegistryAnswers& answers);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Whose child a process is: of a component's process (a shell, a script, one that forks), or not. Where
  /// components start processes, nobody knows how many there will be.
  enum class StartedBy : std::uint8_t { run, component };
  /// A connection of a process; the process is known by its component, its token and its process id. `place`:
  /// the matcher that it is connected to. Throws Error(NC_EINVAL) when there is no such node.
  ProcessId connect(const std::string& component, std::uint64_t token, std::uint32_t process_id,
                    MatcherPlace place = {}, StartedBy started_by = StartedBy::run);
  /// The end of a connection; that of the last one is the end of its process: what it had open for writing is
  /// discarded, what it had open for reading is released.
  void disconnect(ProcessId process);
  /// Every process of the component has ended: nothing will come from it any more.
  void component_exited(const std::string& component, const std::string& reason);

  void create(const Ticket& ticket, ProcessId process, const CreateRequest& request);
  void open_write(const Ticket& ticket, ProcessId process, const OpenRequest& request);
  void open_read(const Ticket& ticket, ProcessId process, const OpenRequest& request);
  /// What open_read() would give, without a share in it: the step counts as read by nobody. Waits as that
  /// does, but the writer component is told of the step that it is writing (NC_EFILE: without a header yet).
  void inquire(const Ticket& ticket, ProcessId process, const OpenRequest& request);
  void need_segment(const Ticket& ticket, ProcessId process, const SegmentRequest& request);
  /// Answered when some of the disk has been given back that the process has not tried yet; refused with
  /// NC_ENO_SPACE when nobody can give any.
  void await_room(const Ticket& ticket, ProcessId process, RoomRequest request);
  void set_header(const Ticket& ticket, ProcessId process, HeaderRequest request);
  /// Waits for the others' closes of a step that this process has closed, and for a drain that has begun.
  void remove(const Ticket& ticket, ProcessId process, const DatasetKey& key, const std::string& path = {});

  /// Throws Error(NC_EINVAL) when the rule does not publish at ncmpi_sync. What was put before is visible
  /// when the last process of the group has been answered.
  void sync(const Ticket& ticket, ProcessId process, const SyncRequest& request);
  void publish(ProcessId process, PublishRequest request);
  /// What a discarded step leaves of the file, if its data is in one.
  enum class FileState : std::uint8_t { spoilt, untouched };
  void discard(ProcessId process, StepId step, FileState file = FileState::spoilt);
  void close_read(ProcessId process, const CloseRequest& request);

  /// A get of a reader waits for what the step's writers have not put yet. It is refused when that cannot
  /// come, or end_get_wait() takes it back: its answer goes past the registry. `what`: GetWait::text.
  void wait_for_puts(const Ticket& ticket, ProcessId process, StepId step, const std::string& what);
  void end_get_wait(const Ticket& ticket);

  /// Of the drain that RegistryAnswers::drain() asked for; what is said of others is ignored.
  void note_drain(StepId step, const DrainProgress& progress);
  /// The drain has ended, well or not.
  void drained(StepId step, const DrainOutcome& outcome);

  /// The step, for a get of a process that has it open. Throws Error: NC_EBADID when it has not, NC_EIO when
  /// the step was discarded.
  [[nodiscard]] const Step& step_for_get(ProcessId process, StepId step);

  /// The step. Throws as step_for_get() does.
  [[nodiscard]] const Step& step(StepId step) const;
  /// A segment of that matcher for data of the step that comes from other nodes; it belongs to the step from
  /// then on. Waits while there is none and somebody may free some, as need_segment() does. `reader`: whose
  /// get waits for it, if any. Throws Error: NC_EBADID or NC_EIO as step(), NC_ENO_SPACE.
  void lease_landing(const Ticket& ticket, StepId step, MatcherPlace place, const LandingSize& size,
                     std::optional<LandingReader> reader);
  /// Another get has to wait until what waits for memory of that matcher has landed.
  void join_landing_wait(StepId step, MatcherPlace place, const LandingReader& reader);
  /// A segment on disk that was being made is there, or (`trouble`) could not be made.
  void spill_made(SegmentId segment, const std::string& trouble);
  /// A segment on disk has been destroyed, by another matcher than this one's.
  void spill_gone(SegmentId segment);

  /// What LookRequest asked. Ignored where the processes have gone on since.
  void looked(std::uint64_t number, bool is_idle);
  /// To be called now and then: tells of waits that look hopeless, and are not known to be, and looks again.
  void look_again();

  /// The run is about to end: logs of steps that have not reached their files keep their names.
  void keep_unfinished_logs();

  /// A process creates or opens a file that is none of the registry's.
  void note_ordinary_file(ProcessId process, OrdinaryFile file);

  [[nodiscard]] StatusReport status() const;
  [[nodiscard]] SegmentPool& pool(std::uint32_t node = 0) { return *pools_.at(node); }

 private:
  /// A log whose names stay: a segment of it, and of which step it is.
  struct KeptLog {
    StepId step = 0;
    SegmentId segment = 0;
  };
  /// What is known under one key.
  struct Dataset {
    Step* newest = nullptr;  ///< the newest published step
    std::vector<Step*> in_progress;
    std::list<Group*> waiting;  ///< for something of this dataset, in the order of arrival
    bool is_recycled = false;   ///< the newest step was consumed and its memory taken
    Claim claim = Claim::none;  ///< of that step, then
    std::uint32_t steps_published = 0;
    std::uint32_t steps_discarded = 0;
    std::uint32_t steps_lost = 0;  ///< DatasetStatus::steps_lost
    AccessCounters counters;
    std::uint64_t kept_bytes = 0;  ///< written to its file
    StepId drained_origin = 0;     ///< Step::origin of what its file has; 0: none
    std::vector<TablePosition> drained_logs;
    std::int64_t drained_records = 0;
    std::string kept_path;  ///< the file that has all of the newest step, and more than its memory may last
    std::uint8_t kept_version = 1;
    std::uint64_t bytes_spilled = 0;
    std::vector<KeptLog> kept_logs;  ///< that wait for `sluice recover`
    std::string kept_logs_directory;
    std::string written_path;  ///< identity: name: the one file that this is for its writer
  };
  /// RuleStatus, as it comes.
  struct RuleUse {
    std::vector<std::string> users;
    std::optional<std::uint64_t> published_at_ms;
  };
  struct GroupId {
    const Component* component = nullptr;
    std::uint64_t id = 0;
    auto operator<=>(const GroupId&) const = default;
  };
  /// What a request for memory knows of the disk: it asks again when that may have changed.
  struct SpillAttempt {
    SegmentLease segment;           ///< that is being made
    std::uint64_t asked_bytes = 0;  ///< for it; it may be larger
    std::uint64_t refused_bytes = ~std::uint64_t{0};
    std::uint64_t given_back = 0;  ///< SegmentPool::spills_given_back when it was refused
    std::string trouble;
  };
  struct MemoryWait {
    Ticket ticket;
    SegmentRequest request;
    MatcherPlace place;                  ///< of the matcher that is to own the segment
    std::vector<LandingReader> waiters;  ///< of what does not land: one process
    std::uint64_t since_ms = 0;
    bool is_landing = false;
    SpillAttempt spill = {};
    std::optional<std::uint64_t> seen = {};  ///< of the disk of a burst-buffer log: RoomRequest::seen

    [[nodiscard]] bool is_being_served() const noexcept { return !spill.segment.empty(); }
    [[nodiscard]] bool is_for_disk() const noexcept { return seen.has_value(); }
    [[nodiscard]] bool is_for_memory() const noexcept { return !is_for_disk() && !is_landing; }
    [[nodiscard]] bool concerns(ProcessId process) const noexcept;
  };
  /// A step that is being drained.
  struct ActiveDrain {
    StepId step = 0;  ///< 0: none
    DrainProgress progress;
  };
  struct Membership {
    Group* group = nullptr;
    std::uint32_t rank = 0;
  };
  class WaitAnalysis;
  struct StuckWait;

  // registry.cpp
  [[nodiscard]] const FileRule& rule_of(const DatasetKey& key) const;
  [[nodiscard]] Membership membership(const Process& process, StepId step, bool writing) const;
  [[nodiscard]] Membership writing_membership(Process& process, StepId step) const;
  void end_process(ProcessId id, const std::string& reason);
  void mark_gone(const SegmentLease& control, std::uint32_t rank);
  void end_component_groups(const Component& component);
  void finish_member(Group& group, std::uint32_t rank);
  void finish_group(Group& group);
  void complete(Step& step);
  static void close_logs(Step& step);
  void end_unfinished(Step& step, const std::string& reason);
  void end_by_death(Step& step, const std::string& reason);
  void discard_step(Step& step, const std::string& reason);
  void supersede(Dataset& dataset);
  void erase(Step& step);

  // registry_readers.cpp
  void review(Step& step);
  void keep(Step& step);
  void note_continued(std::uint32_t rule);
  void note_read(Step& step, const Group& group);
  [[nodiscard]] bool is_partly_read(const Step& step) const;
  [[nodiscard]] Claim claim_on(const Step& step) const;
  [[nodiscard]] Claim claim_of_reader(const Step& step, std::size_t reader) const;
  [[nodiscard]] bool have_all_closed(const ReaderRecord& record, const Component& component) const;
  [[nodiscard]] bool is_on_disk(const Step& step) const;
  void review_steps_read_by(const Component& component);
  bool erase_doubtful(std::uint32_t node, Medium medium);
  bool erase_doubtful(std::uint32_t node) {
    return erase_doubtful(node, Medium::memory) || erase_doubtful(node, Medium::disk);
  }

  // registry_publication.cpp
  void publish_synced(Step& step);
  [[nodiscard]] Step* visible_in_progress(const Dataset& dataset) const;
  void cut_step(Step& step, const std::string& reason);
  void note_early_readers(Step& step);

  // registry_drains.cpp
  void want_drain(Step& step);
  void drop_waiting_drains(const DatasetKey& key);
  void start_next_drain();
  [[nodiscard]] bool is_being_drained(const DatasetKey& key) const;
  void report_drains(StatusReport& report) const;

  // registry_logs.cpp
  void grant_log(const Ticket& ticket, Process& process, const SegmentRequest& request);
  void keep_logs(const Step& step);
  void let_logs_go(const Step& drained);
  void free_disk(const Step& step);
  [[nodiscard]] bool offer_room(const MemoryWait& wait);
  [[nodiscard]] std::uint64_t disk_given_back() const;
  [[nodiscard]] bool is_giving_disk_back() const;

  // registry_opens.cpp
  void join(const Ticket& ticket, Process& process, GroupPurpose purpose, const CreateRequest& request);
  [[nodiscard]] std::string join_mistake(const Process& process, GroupPurpose purpose,
                                         const CreateRequest& request) const;
  void decide(Group& group);
  void decide_create(Group& group);
  void decide_open_write(Group& group);
  void decide_open_read(Group& group);
  [[nodiscard]] std::string recycled_text(const DatasetKey& key) const;
  void decide_inquire(Group& group);
  void wait(Group& group, Group::WaitsFor waits_for);
  void refuse(Group& group, int status, std::string text);
  void give_step(Group& group, Step& step);
  void describe(Group& group, std::uint8_t version);
  void give_file(Group& group, const std::string& path, std::uint8_t version);
  [[nodiscard]] bool is_from_before(const Group& group) const;
  void give_earlier_file(Group& group);
  Step* make_step(Group& group, const Step* base);
  static void add_own_logs(Step& step, std::uint32_t processes);
  void continue_logs(Step& step, const Step& base, const Group& group);
  void answer_members(Group& group);
  bool answer_member(Group& group, std::uint32_t rank);
  void answer(const Ticket& ticket, const Group& group);
  [[nodiscard]] bool is_writing(const Dataset& dataset, const Component& component) const;

  // registry_uses.cpp
  void note_use(std::uint32_t rule, const std::string& component);
  void note_published(std::uint32_t rule);
  [[nodiscard]] std::string near_miss_text(const DatasetKey& key) const;
  void report_uses(StatusReport& report) const;

  // registry_names.cpp
  [[nodiscard]] std::string name_of(const DatasetKey& key) const;
  [[nodiscard]] std::string quoted(const DatasetKey& key) const { return "'" + name_of(key) + "'"; }
  [[nodiscard]] DatasetKey same_name(const DatasetKey& key) const;
  void note_name(const DatasetKey& key);
  [[nodiscard]] std::string elsewhere_text(const DatasetKey& key) const;
  [[nodiscard]] bool refuse_other_path(Group& group);

  // registry_removals.cpp
  void decide_remove(Group& group);
  void take_away(Group& group);
  void answer_removal(const Ticket& ticket, const DatasetKey& key);

  // registry_files.cpp
  [[nodiscard]] bool is_in_files(const DatasetKey& key) const;
  [[nodiscard]] std::vector<const Group*> readers_of_file(const DatasetKey& key) const;
  void withdraw(Step& step);

  // registry_memory.cpp
  enum class MemoryKind : std::uint8_t { spare, table, needed };
  [[nodiscard]] std::optional<SegmentLease> take(MatcherPlace place, const SegmentPool::Request& request,
                                                 MemoryKind kind);
  [[nodiscard]] std::uint64_t room_for(std::uint32_t node, MemoryKind kind) const;
  bool erase_consumed(std::uint32_t node);
  bool recycle_oldest(std::uint32_t node);
  [[nodiscard]] std::uint64_t needed_bytes(std::uint32_t node) const;
  [[nodiscard]] bool may_fit(std::uint32_t node, std::uint64_t bytes) const;

  // registry_grants.cpp
  void serve(MemoryWait wait);
  void grant_ahead(MemoryWait wait);
  [[nodiscard]] bool try_grant(MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> take(const MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> take_for_put(const MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> take_for_landing(const MemoryWait& wait);
  [[nodiscard]] std::optional<SegmentLease> spill(MemoryWait& wait);
  void note_spill_refused(MemoryWait& wait, std::uint64_t bytes, const std::string& trouble);
  bool erase_spilled(std::uint32_t node, bool even_last);
  void hand_over(MemoryWait& wait, SegmentLease segment);
  void note_spilled(const Step& step, std::uint64_t bytes);
  void refuse(const MemoryWait& wait, int status, const std::string& text);
  void begin_wait(const MemoryWait& wait, const LandingReader& waiter);
  void end_wait(const MemoryWait& wait);
  [[nodiscard]] bool spills() const noexcept { return !spill_directory_.empty(); }

  // registry_waits.cpp
  void advance();
  void advance_on(const DatasetKey& key);
  void leave(Group& group, std::uint32_t rank);
  void advance_memory();
  void fail_waits();
  void settle_groups(std::list<Group*>& queue, bool (*is_meant)(const Group&));
  void settle_all();
  void settle_memory();
  void stop_waiting(Group& group) noexcept;
  void drop_waits_of(const Process& process);
  void drop_memory_waits_on(const Step& step, const std::string& reason);
  void drop_landing_waits_on(const Step& step);
  bool fail_hopeless_waits();
  [[nodiscard]] std::map<DatasetKey, std::uint64_t> staged_by_dataset() const;
  [[nodiscard]] std::vector<WaitStatus> waits() const;
  [[nodiscard]] std::set<std::uint32_t> nodes_waited_for() const;
  bool fail_landing_wait(const WaitAnalysis& analysis);
  void fail(const MemoryWait& wait);
  bool fail_memory_waits(std::uint32_t node);
  bool fail_youngest(const std::function<bool(const MemoryWait&)>& concerns);
  bool fail_creates_without_memory(std::uint32_t node);
  bool fail_cycle(const WaitAnalysis& analysis);

  // registry_looks.cpp
  void ask_for_looks(const WaitAnalysis& suspected);
  void ask_for_look(Process& process);
  void ask_for_look(Component& component);
  [[nodiscard]] std::string cycle_text(const std::vector<StuckWait>& cycle) const;
  [[nodiscard]] std::string suspicion() const;

  // registry_waits.cpp
  bool give_own_step(const std::vector<StuckWait>& cycle);
  void refuse_get(const GetWait& wait, int status, const std::string& text);
  [[nodiscard]] std::string wait_text(const Group& group) const;
  [[nodiscard]] std::string wait_text(const GetWait& wait) const;
  [[nodiscard]] std::string memory_wait_text(const DatasetKey& key) const;
  [[nodiscard]] std::string memory_wait_text(const MemoryWait& wait) const;
  [[nodiscard]] std::string blockers_text(Medium medium) const;
  [[nodiscard]] std::string blocker(Medium medium) const;
  [[nodiscard]] std::string missing_readers_text(const Step& step, std::size_t reader) const;
  [[nodiscard]] std::string hopeless_text(const MemoryWait& wait) const;
  [[nodiscard]] std::string memory_text(std::uint32_t node, std::uint64_t bytes) const;
  [[nodiscard]] std::string hopeless_memory_text(std::uint32_t node, std::uint64_t bytes) const;

  std::vector<FileRule> rules_;
  std::vector<std::vector<std::size_t>> most_processes_;  ///< per rule and reader: that have read one step
  std::function<std::uint64_t()> now_ms_;
  RegistryAnswers& answers_;
  std::uint64_t retain_bytes_;
  std::string spill_directory_;
  std::vector<std::unique_ptr<SegmentPool>> pools_;  ///< by node; before all that holds leases
  ProcessTable processes_;
  std::string directory_;  ///< ends with a slash; empty: names are told whole
  std::map<DatasetKey, Dataset> datasets_;
  std::vector<RuleUse> rule_uses_;
  std::vector<OrdinaryFile> ordinary_files_;
  std::map<DatasetKey, DatasetKey> newest_of_name_;  ///< identity: path: by same_name(), what was published
  std::map<StepId, std::unique_ptr<Step>> steps_;
  std::map<GroupId, std::unique_ptr<Group>> groups_;
  std::list<Group*> waiting_groups_;              ///< all, in the order of arrival
  std::list<Group*> memory_groups_;               ///< those of them that wait for memory
  std::vector<std::uint32_t> publication_waits_;  ///< per rule: how many of them wait for a publication
  std::list<MemoryWait> memory_waits_;
  std::list<GetWait> get_waits_;
  std::list<Step*> waiting_drains_;  ///< in the order of their publication
  ActiveDrain active_drain_;
  std::vector<Ticket> waiting_removals_;  ///< of the dataset that is being drained
  std::vector<std::string> drain_failures_;
  ConsumedSteps consumed_;  ///< Claim::none
  ConsumedSteps doubtful_;
  bool has_told_of_doubtful_ = false;
  std::map<StepId, Step*> unconsumed_;   ///< all others: those that somebody waits for, or may
  std::vector<bool> is_continued_rule_;  ///< files of it were opened for writing again
  /// Looks that have not been answered: at a process, or at a component.
  struct PendingLook {
    ProcessId process{};
    std::string component;
  };
  std::map<std::uint64_t, PendingLook> looks_;
  std::uint64_t next_look_ = 1;
  std::string suspicion_;  ///< at the last look_again()
  std::set<std::string> told_suspicions_;
  std::uint64_t logs_ended_ = 0;  ///< burst-buffer logs that were closed: they end where their data does
  StepId next_step_ = 1;
  std::uint64_t next_removal_ = 0;
};

}  // namespace sluice::matcher
