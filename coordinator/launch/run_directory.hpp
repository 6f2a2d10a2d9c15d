#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// The private directory of a run, for its sockets. It has mode 0700 and a short path, and is removed at the
/// end. A lock shows other processes that the run is alive.
class RunDirectory {
 public:
  /// Creates the directory under `base`, and removes directories that dead runs of this user left there.
  /// Throws IoError.
  explicit RunDirectory(const std::filesystem::path& base);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path socket() const;
  /// The same socket for processes of a run of root that have become other users. Empty: there is none.
  [[nodiscard]] const std::filesystem::path& door() const noexcept { return door_; }
  /// The socket where matcher 0 of an MPI job connects to the coordinator.
  [[nodiscard]] std::filesystem::path coordinator_socket() const;
  /// The directory for Open MPI's session directories, which killed jobs of the run leave behind.
  [[nodiscard]] std::filesystem::path sessions() const;
  /// The same for the shared-memory segments of this machine's processes. Empty if there is no /dev/shm.
  [[nodiscard]] const std::filesystem::path& shared_memory() const noexcept { return shared_memory_; }
  /// The file by which others of this user find the run (run_record.hpp).
  [[nodiscard]] std::filesystem::path record() const;
  /// The path for a link to the client library, for a library whose own path cannot be preloaded.
  [[nodiscard]] std::filesystem::path library_link() const;
  [[nodiscard]] std::filesystem::path files_library_link() const;
  /// The descriptor that holds the lock. A process that also holds this descriptor keeps others from taking
  /// the directory for a dead run's.
  [[nodiscard]] int lock() const noexcept { return lock_.number(); }

 private:
  std::filesystem::path path_;
  std::filesystem::path shared_memory_;
  std::filesystem::path door_;
  runtime::FileDescriptor lock_;
};

/// $XDG_RUNTIME_DIR if the directory is usable and its path is short enough for a socket's path, otherwise
/// /tmp. For several machines always /tmp: $XDG_RUNTIME_DIR may be missing on a machine where the user has
/// not logged in.
[[nodiscard]] std::filesystem::path base_for_run_directories(bool are_several_machines = false);

/// The directories under `base` of this user's runs that go on and have a record.
[[nodiscard]] std::vector<std::filesystem::path> living_run_directories(const std::filesystem::path& base);
[[nodiscard]] std::filesystem::path record_in(const std::filesystem::path& run_directory);
[[nodiscard]] std::filesystem::path socket_in(const std::filesystem::path& run_directory);
/// The paths of links to published files, each with a zero byte behind it.
[[nodiscard]] std::filesystem::path links_in(const std::filesystem::path& run_directory);
/// The directory of the files that such links lead to, in memory.
[[nodiscard]] std::filesystem::path exposed_files_of(const std::filesystem::path& run_directory);

/// Removes the directory of a run that has ended, and the shared memory that its jobs left.
void remove_run_directory(const std::filesystem::path& path) noexcept;

/// Removes the directories under `base` that dead runs of this user left.
void remove_stale_run_directories(const std::filesystem::path& base);

}  // namespace sluice::coordinator
