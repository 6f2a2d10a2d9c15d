#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "image_session.hpp"
#include "sluice/runtime/observer.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::files {

/// What a process sees of a run without taking part in it: a program that is attached sees all published
/// files, a component's process the names for listings. Nobody waits for it. Threads may use it at once.
class RunView {
 public:
  /// `socket_path`: of the matcher; nothing is connected before the first call.
  explicit RunView(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  /// The newest published step of the file; nothing when there is none, or when the run has ended. Throws
  /// Error.
  [[nodiscard]] std::optional<FoundImage> find(const runtime::RuleMatch& match);
  /// The process is about to change or hide the file. Throws Error: NC_EPERM where the run has it, and
  /// another one where the disk has it.
  void ask(const runtime::Open& open);
  /// The published files of the directory that are in memory, and those that the component is writing; none
  /// when the run has ended. `directory`: absolute, without symbolic links.
  [[nodiscard]] std::vector<runtime::PublishedFile> list(const std::string& directory,
                                                         const std::string& component) noexcept;
  /// The same for files that processes of this matcher write, or have written.
  [[nodiscard]] std::vector<runtime::PublishedFile> list_written(const std::string& directory) noexcept;

 private:
  [[nodiscard]] std::vector<runtime::PublishedFile> list(const runtime::ListRequest& request) noexcept;
  [[nodiscard]] runtime::Observer& observer();

  std::string socket_path_;
  std::mutex mutex_;  ///< of what follows
  std::unique_ptr<runtime::Observer> observer_;
  FileIdentity identity_;  ///< of its connection
};

}  // namespace sluice::files
