#pragma once
#include <filesystem>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// The private directory of a run, for its sockets: mode 0700, a short path, removed at the end. A lock tells
/// others that the run is alive.
class RunDirectory {
 public:
  /// Creates it under `base`, and removes those that dead runs of this user left there. Throws IoError.
  explicit RunDirectory(const std::filesystem::path& base);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path socket() const;
  /// Where matcher 0 of an MPI job connects to the coordinator.
  [[nodiscard]] std::filesystem::path coordinator_socket() const;
  /// For what Open MPI's jobs of the run leave behind when they are killed: session directories.
  [[nodiscard]] std::filesystem::path sessions() const;
  /// The same for their segments of shared memory, of this machine's processes; empty where there is no
  /// /dev/shm.
  [[nodiscard]] const std::filesystem::path& shared_memory() const noexcept { return shared_memory_; }
  /// Where a link to the client library may be made when its own path cannot be preloaded.
  [[nodiscard]] std::filesystem::path library_link() const;
  /// The descriptor that holds the lock: who has it too keeps the directory from being taken for a dead
  /// run's.
  [[nodiscard]] int lock() const noexcept { return lock_.number(); }

 private:
  std::filesystem::path path_;
  std::filesystem::path shared_memory_;
  runtime::FileDescriptor lock_;
};

/// $XDG_RUNTIME_DIR if it can be used and is short enough for a socket's path, else /tmp. For several
/// machines /tmp, because the other need not be there where nobody has logged in.
[[nodiscard]] std::filesystem::path base_for_run_directories(bool are_several_machines = false);

/// Removes the directory of a run that has ended, and what its jobs have left in shared memory.
void remove_run_directory(const std::filesystem::path& path) noexcept;

/// Removes the directories under `base` that dead runs of this user left.
void remove_stale_run_directories(const std::filesystem::path& base);

/// Creates the log directory of a run, mode 0700, with parents. Empty `wanted`: ".sluice/NAME-DATE-PID"
/// beside the workflow file. Throws IoError.
[[nodiscard]] std::filesystem::path create_log_directory(const std::filesystem::path& wanted,
                                                         const std::filesystem::path& flow_file,
                                                         const std::string& name);

}  // namespace sluice::coordinator
