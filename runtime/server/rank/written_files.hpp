#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client_connections.hpp"
#include "control_protocol.hpp"
#include "disk_worker.hpp"
#include "file_puts.hpp"
#include "file_watch.hpp"
#include "sealed_files.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/status.hpp"
#include "step_files.hpp"

namespace sluice::runtime {

/// Files that processes of this matcher write by the C library. Each is a memory file. When its last writer
/// has closed it, it becomes a step: the matcher creates, fills and publishes the step in the name of the
/// process that opened the file, by a connection number of its own. So for the registry a file is written as
/// any dataset is: docs/design/written-files.md.
class WrittenFiles final : public StepFiles {
 public:
  WrittenFiles(MatcherBase& base, ClientConnections& clients);
  ~WrittenFiles() override;
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  /// At the start of the run. `memory_bytes`: staging.memory.
  void start(std::uint64_t memory_bytes) noexcept { memory_bytes_ = memory_bytes; }
  /// Answers by `file_opened`, or by an error: NC_EEXIST, NC_ENOENT, or what the registry says to a create.
  void open(Client& client, std::uint32_t tag, const OpenFile& request);
  void note(const Client& client, const FileHolder& note);
  /// Answers by `done`; NC_ENOENT where there is no such file here.
  void remove(Client& client, std::uint32_t tag, const Remove& request);
  /// The files of a directory that are being written, or are published: the next part behind the path
  /// `request.after`.
  [[nodiscard]] Listing list(const ListRequest& request) const;
  /// The registry's answer to a request that was made for a file; others are left alone.
  [[nodiscard]] bool take(const Answer& answer);
  /// The bytes of a step that was written as a file on this matcher, which nobody can change any more; null:
  /// it was not. Whoever has them may outlive the step.
  /// Throws IoError.
  [[nodiscard]] SharedFile contents(matcher::StepId step) { return sealed_.open(step); }
  /// For other matchers. What is on disk is read by a thread.
  void read(const FileRange& range, MemoryReceiver receiver) override;
  /// Answers by `image_made`, if the step was written as a file on this matcher, and the client has it open.
  [[nodiscard]] bool give_image(Client& client, std::uint32_t tag, const ImageRequest& request);
  /// Whether the file at the path has been closed, and is about to be published. Who opens it now must wait
  /// for that, and not see the one before.
  [[nodiscard]] bool is_publishing(const std::string& path);
  /// Calls `then` when it is no longer about to be published.
  void when_published(const std::string& path, std::function<void()> then);
  /// The step is no more.
  void forget(matcher::StepId step);
  /// All processes of the component have ended. Publishes what they have closed, and gives up the rest; then
  /// calls `then`, which may be at once.
  void end_component(const std::string& component, std::function<void()> then);

 private:
  struct File;
  struct Place;
  struct QueuedOpen {
    ClientId client = 0;
    std::uint32_t tag = 0;
    OpenFile request;
    bool has_looked = false;  ///< look_elsewhere
    SharedFile base = {};     ///< what it found
  };
  struct Ending {
    std::string component;
    std::function<void()> then;
  };

  void open_now(const QueuedOpen& open);
  [[nodiscard]] bool may_be_elsewhere(const QueuedOpen& open) const;
  void look_elsewhere(const QueuedOpen& open);
  void leave_to_disk(const QueuedOpen& open);
  void begin(Place& place, const QueuedOpen& open);
  void open_base(const File& file, std::uint32_t permissions);
  void open_in_place(const File& file);
  void begin_bytes(File& file, std::uint32_t permissions);
  void begin_on_disk(const File& file, std::uint32_t permissions);
  void watch(File& file, FileDescriptor bytes);
  void begin_contents(File& file);
  void copy_base(File& file);
  [[nodiscard]] bool is_large(std::uint64_t bytes) const;
  void ask(File& file, RegistryRequest request);
  void ask_create(File& file);
  void go_on(const Answer& answer);
  void answer_opens(File& file);
  [[nodiscard]] bool give(File& file, const QueuedOpen& open);
  void refuse(const QueuedOpen& open, int status, const std::string& text);
  void note_no_descriptor(const std::string& path, const std::string& effect);
  [[nodiscard]] static bool is_open_somewhere(const File& file);
  void closed(int watch);
  void look_again(int watch, std::uint64_t doubt, std::chrono::microseconds after);
  void closed_all(File& file);
  void serve_queued(const std::string& path);
  void publish(File& file);
  void publish_later(File& file);
  void carry_out(std::uint64_t bytes, std::function<void()> work, std::function<void()> then);
  void note_continued(const File& file);
  void end_in_place(File& file);
  void read_contents(File& file);
  void write_to_disk(File& file);
  void stage(File& file);
  void advance(File& file);
  [[nodiscard]] bool may_be_log(const File& file) const;
  void make_ordinary_log(File& file);
  void fill(File& file);
  void move_to_disk(File& file);
  void give_up(File& file, const Error& error);
  void complete(File& file);
  void abandon(File& file, const std::string& reason, int status = NC_EIO);
  void drop(File& file);
  void settle(const std::string& path);
  void tidy(const std::string& path);
  [[nodiscard]] File* find(std::uint64_t connection);

  MatcherBase& base_;
  ClientConnections& clients_;
  FileWatch watch_;
  std::map<std::string, Place> places_;  ///< by path
  std::map<std::uint64_t, File*> by_connection_;
  std::map<int, File*> by_watch_;
  std::map<matcher::StepId, std::string> published_;   ///< paths of steps that live
  SealedFiles sealed_;                                 ///< their files
  std::map<std::uint32_t, std::uint64_t> last_bytes_;  ///< of the newest file, by rule
  std::set<std::uint32_t> continued_;                  ///< rules of files that were written in parts
  std::vector<Ending> endings_;
  std::uint64_t memory_bytes_ = 0;
  bool has_told_of_descriptors_ = false;
  std::uint64_t last_file_ = 0;
  std::uint64_t last_doubt_ = 0;
  DiskWorker worker_;  ///< copies files
};

}  // namespace sluice::runtime
