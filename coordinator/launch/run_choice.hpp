#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run_record.hpp"

namespace sluice::coordinator {

/// The runs of `all` that a user means: by the name of their workflow, by their number, by the workflow's
/// file, its directory, or the log directory of a run; empty: all of them. A name comes before a path.
[[nodiscard]] std::vector<RunRecord> runs_named(const std::vector<RunRecord>& all, const std::string& named);

/// The run that goes on and that a user names so; empty: the only one. Without such a run, prints what there
/// is as `command`, and returns nothing.
[[nodiscard]] std::optional<RunRecord> choose_run(const std::string& command, const std::string& named);

/// Cells of a table: name, id, beginning, workflow file.
[[nodiscard]] std::vector<std::string> describe_run(const RunRecord& run);

/// "14:03:22" of today, otherwise "2026-11-23 14:03".
[[nodiscard]] std::string format_time(std::time_t time);

}  // namespace sluice::coordinator
