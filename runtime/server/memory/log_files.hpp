#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/mapped_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/run_lock.hpp"

namespace sluice::runtime {

/// The data file of a log. It is open only while somebody uses it, so that the matcher needs no descriptor
/// for each log that is not read yet. Threads may share it.
class LogData {
 public:
  explicit LogData(std::string path) : path_(std::move(path)) {}
  /// Opens the file, unless it is open. Throws IoError.
  [[nodiscard]] std::shared_ptr<const FileDescriptor> descriptor();

 private:
  std::string path_;
  std::mutex mutex_;  ///< protects open_
  std::weak_ptr<const FileDescriptor> open_;
};

/// The log that another matcher has lent: it is opened by its name when somebody uses it, so that no
/// descriptor stays. Throws IoError when the name is not known.
[[nodiscard]] MappedFile log_file(const FileDescriptor& lent);

/// The burst-buffer logs whose data is in segments of this matcher. The matcher locks their directories, so
/// that `sluice recover` does not touch them. When the last segment of a log has been released, its data is
/// in the netCDF file or not needed. The log's files are then removed, unless the log is kept.
class LogFiles {
 public:
  /// Calls its argument later, after those of earlier calls, or at once: work on a disk takes as long as it
  /// needs.
  using Worker = std::function<void(std::function<void()> work)>;
  /// `run`: the number of this run; 0: none, so that no directory is locked.
  LogFiles(Worker worker, std::uint64_t run) : worker_(std::move(worker)), run_(run) {}

  /// The process is about to create the log's files.
  void expect(matcher::ProcessId process, const std::string& metadata_path);
  /// The process has removed them: the log had no segment.
  void forget(const std::string& metadata_path) { expected_.erase(metadata_path); }
  /// The process has ended. Removes its logs that never had a segment.
  void end(matcher::ProcessId process) noexcept;

  /// The segment is a part of this log's data. Returns the data file.
  [[nodiscard]] std::shared_ptr<MappedFile> add(matcher::SegmentId segment, const matcher::LogPlace& place);
  /// The segment has been destroyed.
  void release(matcher::SegmentId segment) noexcept;
  /// Sets whether the log is kept that the segment is or was a part of. An unknown log is left unchanged.
  void keep(matcher::SegmentId segment, bool is_kept) noexcept;
  /// Removes all logs that are not kept.
  void remove_all() noexcept;

 private:
  struct Log {
    std::shared_ptr<LogData> data;  ///< shared by the log's segments
    std::size_t segments = 0;       ///< the number of segments in use
    bool is_kept = false;           ///< `sluice recover` may need it
    bool is_wanted = false;         ///< its user wants to keep the log in any case
    [[nodiscard]] bool may_go() const noexcept { return !is_kept && !is_wanted; }
  };
  using Logs = std::map<std::string, Log>;  // by the path of the metadata log
  /// Of the directories with logs of this run. Only the worker uses it.
  struct Locks {
    storage::PosixFileSystem files;
    std::map<std::string, storage::RunLock> by_directory;
  };

  void lock(const std::string& directory);
  void remove(const std::string& metadata_path) noexcept;
  void settle(Logs::iterator log) noexcept;

  Worker worker_;
  std::uint64_t run_;
  std::shared_ptr<Locks> locks_ = std::make_shared<Locks>();  ///< shared with the worker's tasks
  std::set<std::string> directories_;
  Logs logs_;
  std::map<std::string, matcher::ProcessId> expected_;  ///< logs without a segment so far, by their paths
  std::map<matcher::SegmentId, std::string> log_of_;
};

}  // namespace sluice::runtime
