#pragma once
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "run_journal.hpp"
#include "run_record.hpp"

namespace sluice::coordinator {

/// The name of the workflow in the file; of one with mistakes, that of the file.
[[nodiscard]] std::string name_of_workflow(const std::filesystem::path& file);

/// The log directory of a run that users name as in choose_run(): of the one that goes on, otherwise of the
/// newest one in `.sluice`, beside the workflow's file, in its directory, or here. With an empty `run`, the
/// newest of all. A path that is none of these is returned as it is. Empty: there is none.
[[nodiscard]] std::filesystem::path find_log_directory(const std::string& run);

/// The runs of a place that users name: a directory or a workflow's file, whose `.sluice` has their logs, or
/// `.sluice` itself; empty: here. The oldest first. With a workflow's file: its runs alone.
[[nodiscard]] std::vector<FormerRun> runs_of(const std::string& place);

/// Whether the run that goes on has the log directory of the other.
[[nodiscard]] bool has_log(const RunRecord& record, const FormerRun& run);

/// What lies in the log directory of a run, in bytes on disk. What cannot be read counts nothing.
[[nodiscard]] std::uint64_t bytes_on_disk(const FormerRun& run);

/// "goes on", "ended", "failed", "was killed"; "-" where the run has kept no record.
[[nodiscard]] std::string state_of(const FormerRun& run);

/// When it began.
[[nodiscard]] std::time_t beginning_of(const FormerRun& run);

}  // namespace sluice::coordinator
