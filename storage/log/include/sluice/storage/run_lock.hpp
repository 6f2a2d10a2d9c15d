#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Shows other processes that a workflow still needs its burst-buffer logs in a directory, after the
/// processes that wrote them have closed them: a lock on a file there, which the matchers of the run share.
/// One file for all logs, so the number of descriptors does not grow with them.
class RunLock {
 public:
  /// Takes the lock. Removes such files of killed runs of this user. `run`: BurstLogIdentity::run. `files`
  /// outlives this object. Throws IoError.
  RunLock(FileSystem& files, const std::string& directory, std::uint64_t run);
  /// The last matcher removes the file.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  [[nodiscard]] bool take();

  FileSystem& files_;
  std::string path_;
  std::unique_ptr<File> file_;
};

/// Whether a matcher of the run lives that needs the logs beside `metadata_path`. Only locks of that log's
/// owner count. `run`: BurstLogIdentity::run.
[[nodiscard]] bool is_run_alive(FileSystem& files, const std::string& metadata_path, std::uint64_t run);

/// Removes the lock files of killed runs of this user. Throws IoError if the directory cannot be read.
void remove_stale_run_locks(FileSystem& files, const std::string& directory);

}  // namespace sluice::storage
