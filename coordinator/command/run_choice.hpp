#pragma once
#include <optional>
#include <string>

#include "run_record.hpp"

namespace sluice::coordinator {

/// The run that a user names by the name of its workflow or by its id; empty: the only one. Without such a
/// run, prints what there is as `command`, and returns nothing.
[[nodiscard]] std::optional<RunRecord> choose_run(const std::string& command, const std::string& named);

/// Cells of a table: name, id, beginning, workflow file.
[[nodiscard]] std::vector<std::string> describe_run(const RunRecord& run);

/// "14:03:22" of today, otherwise "2026-11-23 14:03".
[[nodiscard]] std::string format_time(std::time_t time);

}  // namespace sluice::coordinator
