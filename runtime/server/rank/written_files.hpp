#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client_connections.hpp"
#include "control_protocol.hpp"
#include "file_steps.hpp"
#include "file_writers.hpp"
#include "published_files.hpp"
#include "sluice/formats/error.hpp"
#include "step_files.hpp"
#include "written_bytes.hpp"

namespace sluice::runtime {

/// Files that processes of this matcher write by the C library, by their paths. Each is a file in memory, or
/// on disk. When its last writer has closed it, it becomes a step. This class knows in which state each file
/// is, and answers the clients; the other classes know one side of a file each: docs/design/written-files.md.
class WrittenFiles final : public StepFiles {
 public:
  WrittenFiles(MatcherBase& base, ClientConnections& clients, PublishedFiles& published);
  ~WrittenFiles() override;
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  struct Name {
    DatasetKey key;
    std::string path;
  };
  /// At the start of the run. `memory_bytes`: staging.memory.
  void start(std::uint64_t memory_bytes) noexcept { bytes_.start(memory_bytes); }
  /// Answers by `file_opened`, or by an error: NC_EEXIST, NC_ENOENT, or what the registry says to a create.
  void open(Client& client, std::uint32_t tag, const OpenFile& request);
  /// Without files: the process ends, and leaves all its files in order, also those that it is being given.
  void note(const Client& client, const FileHolder& note);
  /// Answers by `done`; NC_ENOENT where there is no such file here.
  void remove(Client& client, std::uint32_t tag, const Open& request);
  /// Gives a file another name, or one more. Answers by `done`, or by an error: NC_ENOENT, NC_EEXIST.
  void name(Client& client, std::uint32_t tag, const NameFile& request);
  /// Answers by `done` when the file's bytes are where its names are, or somebody can still write; after an
  /// fsync, as sync() does.
  void await(Client& client, std::uint32_t tag, const AwaitFile& request);
  /// What the process's fsync of a file is to do, by the file's rule. Answers by `done`, or by an error.
  void sync(Client& client, std::uint32_t tag, const AwaitFile& request);
  void read(const FileRange& range, MemoryReceiver receiver) override;
  void follow_link(const DatasetKey& key, const std::string& path, const Name& to);
  /// At another matcher, the file has lost the name, or has got a new one; `new_path`: empty, or that.
  void follow_removal(const std::string& path, const DatasetKey& new_key, const std::string& new_path);
  /// The files of a directory that are being written, or are published: the next part behind the path
  /// `request.after`.
  [[nodiscard]] Listing list(const ListRequest& request) const;
  /// The registry's answer to a request that was made for a file; others are left alone.
  [[nodiscard]] bool take(const Answer& answer) { return steps_.take(answer); }
  /// The path by which a file is written here that another process knows by `path`.
  [[nodiscard]] std::string path_of(const DatasetKey& key, const std::string& path) const;
  /// Calls `then` when it is known whether the file at the path, or each file in that directory, has been
  /// closed for the last time; and the registry has been told.
  void when_known(const std::string& path, std::function<void()> then);
  /// The component writes the file that has become the step, or will, by PnetCDF or at another matcher: the
  /// registry knows what is newest.
  void note_outdated(matcher::StepId step);
  /// The step is no more.
  void forget(matcher::StepId step);
  /// All processes of the component have ended. Publishes what they have closed, and gives up the rest; then
  /// calls `then`, which may be at once.
  void end_component(const std::string& component, std::function<void()> then);
  /// Adds the processes whose opens wait for the end of a file that the registry holds up: for the registry,
  /// they seem to compute.
  void add_held_up(matcher::LookRequest& look);
  /// At the end of the run, in the event log.
  void tell_of_copies() const;

 private:
  struct File;
  struct Place;
  struct QueuedOpen {
    ClientId client = 0;
    std::uint32_t tag = 0;
    OpenFile request;
    bool is_put_in_place = false;  ///< by MPI-IO: the rule would have it in memory
    bool has_looked = false;       ///< look_elsewhere
    bool wants_facts = false;      ///< alone
    SharedFile base = {};          ///< what it found
  };
  static constexpr const char* was_replaced = "another file was renamed to its name while it was open";
  struct Ending {
    std::string component;
    std::function<void()> then;
  };

  void open_now(const QueuedOpen& open);
  [[nodiscard]] std::shared_ptr<const UserRights> rights_of(ClientId id);
  void expect_may_change(ClientId client, const std::string& path);
  [[nodiscard]] bool may_be_written(const QueuedOpen& open);
  void open_at(Place& place, const QueuedOpen& open);
  void replace(File& file, const QueuedOpen& open);
  [[nodiscard]] bool may_be_elsewhere(const QueuedOpen& open) const;
  void look_elsewhere(const QueuedOpen& open);
  void leave_to_disk(const QueuedOpen& open);
  void give_found(const QueuedOpen& open);
  void hand_over(Client& client, const QueuedOpen& open, SharedFile own);
  [[nodiscard]] struct stat facts_before(const Place& place, const QueuedOpen& open);
  void begin(Place& place, const QueuedOpen& open);
  void begin_in_place(const File& file);
  void take_begun(FileId id, FileBytes bytes, const Outcome& outcome);
  void begin_contents(File& file);
  void create(const File& file, std::function<void(File&)> then);
  void answer_opens(File& file);
  [[nodiscard]] bool give(File& file, const QueuedOpen& open, bool is_new = false);
  [[nodiscard]] FileOpened opened_at(const QueuedOpen& open) const;
  void change(const File& file) noexcept;
  void refuse(const QueuedOpen& open, int status, const std::string& text);
  void note_no_descriptor(const std::string& path, const std::string& effect);
  [[nodiscard]] bool is_open(const File& file) const;
  void take(const FileWriters::News& news);
  void end_unclosed(File& file, const std::string& reason);
  [[nodiscard]] bool can_be_sealed(const File& file) const;
  [[nodiscard]] bool is_as_before(const File& file) const;
  void publish(File& file);
  void publish_later(File& file);
  void note_continued(const File& file);
  void note_damage(const File& file, const std::string& damage);
  void end_in_place(const File& file);
  void examine(const File& file);
  void fill(const File& file, const std::shared_ptr<const FilePuts>& puts);
  void end_filling(FileId id, FileBytes bytes, const Outcome& outcome);
  void complete(const File& file);
  void give_up(File& file, const Outcome& outcome);
  void abandon(File& file, const std::string& reason, int status = NC_EIO);
  void lose(const File& file, const std::string& reason);
  void end_without_step(const File& file, StepEnd end = StepEnd::untouched, const std::string& reason = {});
  [[nodiscard]] File take_out(FileId id);
  void end_with_component(FileId id);
  void settle_if_open(FileId id);
  void settle(const File& ended, const Outcome& outcome);
  void settle_endings();
  void queue(Place& place, const QueuedOpen& open);
  void serve_queued(const std::string& path);
  void tidy(const std::string& path);
  [[nodiscard]] File* find(FileId id);
  [[nodiscard]] File* written_at(const std::string& path);
  void begin_publishing(File& file);
  void tell_names(const File& file);
  void wake_waiting(Place& place);
  [[nodiscard]] bool is_being_closed(const Place& place);
  void end_written(File& file);
  void take_into_memory(const File& file);

  using Found = std::function<void(const SharedFile&)>;
  void look(const QueuedOpen& open, Open::Which which, Found then);

  // Syncs: written_syncs.cpp
  using Then = std::function<void(const Outcome&)>;
  void sync(File& file, Then then);
  [[nodiscard]] matcher::StepId shown_step(const File& file) const;
  void save(File& file, FileBytes copy, const Then& then);
  void show(File& file, const FileBytes& copy, const Then& then);
  void end_sync(FileId id, const Outcome& outcome, const Then& then);

  // Names: written_names.cpp
  struct Renaming;
  struct Contents;
  using RenamingPtr = std::shared_ptr<Renaming>;
  [[nodiscard]] static std::vector<std::string> names_of(const File& file);
  [[nodiscard]] Place* busy_link(const Place& place);
  void take_linked_names(File& file, const Place& place);
  void leave_links(const std::string& path, Place& place);
  void mark_names(const std::string& path, bool has_lost_it = false);
  void take_name(const std::string& path, const std::string& reason);
  void rename_to(File& file, const Name& name);
  void publish_other_names(const File& ended);
  void publish_bytes(const LocalProcess& writer, const OpenFile& name, const Contents& contents,
                     std::function<void(const Outcome&)> then);
  [[nodiscard]] bool find_by_numbers(OpenFile& name);
  void go_on(const RenamingPtr& renaming);
  void link_elsewhere(const RenamingPtr& renaming, const OpenFile& name);
  void add_name(File& file, const Name& name);
  [[nodiscard]] bool waits_for(const RenamingPtr& renaming, const std::string& path);
  [[nodiscard]] bool find_contents(const RenamingPtr& renaming, const OpenFile& name, Contents& contents);
  void look_for(const RenamingPtr& renaming, const OpenFile& name);
  void carry_out(const RenamingPtr& renaming);
  void move_links(const std::string& from, const std::string& to);
  void forget_names(const NameFile& request);
  void join_links(const NameFile& request);
  [[nodiscard]] static Contents contents_on_disk(const std::string& path);
  void give_name(const RenamingPtr& renaming, const Contents& contents, const OpenFile& name,
                 const OpenFile& former);
  void end_part(const RenamingPtr& renaming, const Outcome& outcome);
  void remove_former(const RenamingPtr& renaming);
  void take_from_others(const Renaming& renaming, std::uint32_t remover);
  void tell_others(const NameFile& name, std::uint32_t remover);
  void done(const RenamingPtr& renaming);
  void refuse(const RenamingPtr& renaming, int status, const std::string& text);
  void land(const RenamingPtr& renaming, const Contents& contents);
  void land(File& file);
  [[nodiscard]] bool is_taken_back(ClientId client, std::uint32_t tag, const OpenFile& request);
  void end_landing(File& file);
  void end_nameless(const File& file);
  void answer_landed(File& file);

  MatcherBase& base_;
  ClientConnections& clients_;
  PublishedFiles& published_;
  FileWriters writers_;
  WrittenBytes bytes_;
  FileSteps steps_;
  std::map<std::string, Place> places_;           ///< by path
  std::map<FileId, File> files_;                  ///< until they are published or given up
  std::map<matcher::StepId, std::string> paths_;  ///< of steps that were published and live
  std::set<matcher::StepId> outdated_;            ///< steps that are not published yet: note_outdated()
  std::map<std::uint64_t, std::string> landed_;   ///< files on disk, by st_ino, that got the bytes of these
  std::deque<std::uint64_t> ending_processes_;    ///< the last that have said so: their tokens
  std::set<std::uint32_t> continued_;             ///< rules of files that were written in parts
  std::set<std::uint32_t> damaged_;               ///< rules of files that were no CDF files, as they began
  std::vector<Ending> endings_;
  bool has_told_of_descriptors_ = false;
  std::uint64_t saves_ = 0;  ///< so far
};

}  // namespace sluice::runtime
