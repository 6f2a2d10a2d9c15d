#pragma once
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"
#include "sluice/storage/recovery.hpp"

namespace sluice::storage {

/// The logs of a directory.
struct ListedLogs {
  std::vector<std::string> metadata;  ///< paths of files that begin as a metadata log
  std::vector<LogStatement> damaged;  ///< incomplete logs: their metadata is missing or damaged
};

/// Distinguishes logs from other programs' files, and from remains of a log that was being created or
/// removed. Throws IoError if the directory cannot be read.
[[nodiscard]] ListedLogs list_logs(FileSystem& system, const std::string& directory);

/// Compares the headers of the group's logs, which must agree. Sets the group's number of processes by
/// majority, and reports the logs that differ.
void compare_headers(LogGroup& group);

/// Compares the logs of a workflow's step, which have the same name up to the rank, across all groups: they
/// agree on the path, the run, the step and its origin, and the group's number is in their names. Sets the
/// refusal of each group that has a log which contradicts another, or its own name.
void refuse_contradictions(std::vector<LogGroup>& groups);

/// Whether the damaged log belongs to the group, by its name.
[[nodiscard]] bool belongs_to(const LogStatement& damaged, const LogGroup& group);

}  // namespace sluice::storage
