#include "log_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/segment.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::runtime {

std::shared_ptr<const FileDescriptor> LogFiles::add(matcher::SegmentId segment,
                                                    const matcher::LogPlace& place) {
  const std::string& metadata_path = place.metadata_path;
  Log log;
  if (const auto known = logs_.find(metadata_path); known != logs_.end()) {
    log = std::move(known->second);
    logs_.erase(known);
  } else {
    const auto paths = storage::burst_log_paths_of(metadata_path);
    FileDescriptor data(::open(paths.data.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!data) throw IoError(NC_EIO, errno, paths.data, "open the burst-buffer log");
    log.data = std::make_shared<const FileDescriptor>(std::move(data));
    // Its writer has such a lock, too: it keeps off those who want to have the log for themselves.
    log.lock = storage::PosixFileSystem().open(metadata_path, storage::OpenMode::read);
    (void)log.lock->try_lock();
  }
  ++log.segments;
  log.is_wanted = log.is_wanted || place.is_kept;
  log_of_.emplace(segment, metadata_path);
  return logs_.emplace(metadata_path, std::move(log)).first->second.data;
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
  remove(log->first, log->second);
  std::erase_if(log_of_, [&](const auto& entry) { return entry.second == log->first; });
  logs_.erase(log);
}

void LogFiles::remove_all() noexcept {
  for (const auto& [path, log] : logs_) {
    if (log.may_go()) remove(path, log);
  }
  std::erase_if(logs_, [](const auto& log) { return log.second.may_go(); });
}

/// The names first: metadata whose data is gone would be damage. The disk's blocks go now, too, even if a
/// process keeps its mapping for long; it hears of the end with its next answer.
void LogFiles::remove(const std::string& metadata_path, const Log& log) noexcept {
  try {
    storage::PosixFileSystem system;
    storage::remove_log(system, metadata_path);
  } catch (...) {
    // The directory cannot be written any more, say: what is left is harmless, as long as it is whole.
    return;
  }
  struct stat facts {};
  if (::fstat(log.data->number(), &facts) == 0 && facts.st_size > 0)
    ::fallocate(log.data->number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, facts.st_size);
}

}  // namespace sluice::runtime
