#pragma once
#include <set>
#include <string>
#include <vector>

#include "run_journal.hpp"
#include "sluice/storage/step_record.hpp"

namespace sluice::coordinator {

/// What is there again of a run that has ended.
struct Restoration {
  storage::StepRecord record;     ///< the published steps, numbered in the order of publication
  std::vector<std::string> lost;  ///< published files that readers have not read: they were in memory only
  std::vector<std::string> unfinished;  ///< files that had not been published
  bool has_unnamed = false;             ///< there are more of both, and nobody knows their names
  std::vector<std::string> troubles;    ///< logs that could not be recovered, and why
  std::vector<std::string> doubtful;    ///< files of programs that may lack their last bytes
  std::vector<std::string> synced;      ///< files of programs that are there as at their last fsync
  std::vector<std::string> saved;       ///< the same, but another file is in their place
  std::set<std::string> saved_in;       ///< the directories of these
  std::size_t recovered = 0;            ///< steps that were in burst-buffer logs alone
  std::set<std::string> done;           ///< components that need not be started again
  std::vector<std::string> own_files;   ///< copies of steps, which go when the run has ended well
  int resumes = 0;                      ///< how often the workflow is resumed with this run

  /// What `sluice run` says of it, a line each.
  [[nodiscard]] std::vector<std::string> describe() const;
};

/// Finds the steps of the former run that are on disk, and writes those that are in burst-buffer logs alone
/// to their files. The logs go. May be repeated when it was interrupted. Throws IoError, FormatError; and
/// Error where logs are on other nodes, or a power failure may have damaged them, unless the run is to go on
/// `without_logs`.
[[nodiscard]] Restoration restore(const FormerRun& former, const workflows::Workflow& workflow,
                                  bool without_logs);

}  // namespace sluice::coordinator
