#pragma once
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"
#include "sluice/storage/recovery.hpp"

namespace sluice::storage {

/// What a directory has of logs.
struct ListedLogs {
  std::vector<std::string> metadata;  ///< paths of what begins as a metadata log
  std::vector<LogStatement> damaged;  ///< logs that are there in part: their metadata is missing or damaged
};

/// Tells logs from other programs' files, and from what is left of a log that was being made or removed.
/// Throws IoError where the directory cannot be read.
[[nodiscard]] ListedLogs list_logs(FileSystem& system, const std::string& directory);

/// What the headers of the group's logs say must agree. Sets the group's number of processes to what most of
/// them say, and tells of those that say otherwise.
void compare_headers(LogGroup& group);

/// Whether the damaged log is one of the group's, as far as its name tells.
[[nodiscard]] bool belongs_to(const LogStatement& damaged, const LogGroup& group);

}  // namespace sluice::storage
