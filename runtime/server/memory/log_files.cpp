#include "log_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/storage/burst_log_writer.hpp"

namespace sluice::runtime {

namespace {

FileDescriptor open_data(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
}

/// Removes the names first: metadata without its data would count as damage. Disk blocks are freed now, too,
/// even if a process keeps its mapping for long. The process learns of the end with its next answer.
void remove_now(const std::string& metadata_path) noexcept {
  const FileDescriptor data = open_data(storage::burst_log_paths_of(metadata_path).data);
  try {
    storage::PosixFileSystem system;
    storage::remove_log(system, metadata_path);
  } catch (...) {
    // For example, the directory is no longer writable: the remaining log is harmless, as long as it is
    // whole.
    return;
  }
  struct stat facts {};
  if (data && ::fstat(data.number(), &facts) == 0 && facts.st_size > 0)
    ::fallocate(data.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, facts.st_size);
}

}  // namespace

std::shared_ptr<const FileDescriptor> LogData::descriptor() {
  const std::lock_guard lock(mutex_);
  if (auto known = open_.lock()) return known;
  FileDescriptor file = open_data(path_);
  if (!file) throw IoError(errno == EMFILE ? NC_ENFILE : NC_EIO, errno, path_, "open the burst-buffer log");
  auto opened = std::make_shared<const FileDescriptor>(std::move(file));
  open_ = opened;
  return opened;
}

MappedFile log_file(const FileDescriptor& lent) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(lent.number()), error);
  if (error) throw IoError(NC_EIO, error.value(), "a burst-buffer log", "find the name of");
  const auto data = std::make_shared<LogData>(path.string());  // shared with the threads that open it
  return MappedFile([data] { return data->descriptor(); });
}

void LogFiles::expect(matcher::ProcessId process, const std::string& metadata_path) {
  if (!logs_.contains(metadata_path)) expected_.insert_or_assign(metadata_path, process);
}

void LogFiles::end(matcher::ProcessId process) noexcept {
  std::erase_if(expected_, [&](const auto& expected) {
    if (expected.second != process) return false;
    remove(expected.first);
    return true;
  });
}

std::shared_ptr<MappedFile> LogFiles::add(matcher::SegmentId segment, const matcher::LogPlace& place) {
  const auto [log, is_new] = logs_.try_emplace(place.metadata_path);
  expected_.erase(place.metadata_path);
  if (is_new) {
    log->second.data = std::make_shared<LogData>(storage::burst_log_paths_of(place.metadata_path).data);
    lock(storage::directory_of(place.metadata_path));
  }
  ++log->second.segments;
  log->second.is_wanted = log->second.is_wanted || place.is_kept;
  log_of_.emplace(segment, place.metadata_path);
  return std::make_shared<MappedFile>([data = log->second.data] { return data->descriptor(); });
}

/// The log's writer has a lock of its own until it has closed the log.
void LogFiles::lock(const std::string& directory) {
  if (run_ == 0 || !directories_.insert(directory).second) return;
  worker_([locks = locks_, directory, run = run_] {
    try {
      locks->by_directory.try_emplace(directory, locks->files, directory, run);
    } catch (const Error&) {
      // A file system without locks, or one on which nothing can be created: `sluice recover` sees the locks
      // of the writers alone.
    }
  });
}

void LogFiles::release(matcher::SegmentId segment) noexcept {
  const auto path = log_of_.find(segment);
  if (path == log_of_.end()) return;
  const auto log = logs_.find(path->second);
  if (log == logs_.end() || log->second.segments == 0) return;
  --log->second.segments;
  settle(log);
}

void LogFiles::keep(matcher::SegmentId segment, bool is_kept) noexcept {
  const auto path = log_of_.find(segment);
  if (path == log_of_.end()) return;
  const auto log = logs_.find(path->second);
  if (log == logs_.end()) return;
  log->second.is_kept = is_kept;
  settle(log);
}

void LogFiles::settle(Logs::iterator log) noexcept {
  if (log->second.segments > 0 || !log->second.may_go()) return;
  remove(log->first);
  std::erase_if(log_of_, [&](const auto& entry) { return entry.second == log->first; });
  logs_.erase(log);
}

void LogFiles::remove_all() noexcept {
  for (auto log = logs_.begin(); log != logs_.end();) {
    const auto next = std::next(log);
    if (log->second.may_go()) {
      remove(log->first);
      logs_.erase(log);
    }
    log = next;
  }
}

void LogFiles::remove(const std::string& metadata_path) noexcept {
  worker_([metadata_path] { remove_now(metadata_path); });
}

}  // namespace sluice::runtime
