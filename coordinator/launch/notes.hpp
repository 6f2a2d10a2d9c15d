#pragma once
#include <optional>
#include <vector>

#include "readiness.hpp"

namespace sluice::coordinator {

/// Finds facts about a workflow that can run and that the user should know: uncoupled components, cycles,
/// directories without permission, likely slips, and resources that the machine lacks. In the file's order.
[[nodiscard]] std::vector<workflows::Mistake> find_notes(const workflows::Workflow& workflow,
                                                         const Inspections& inspections,
                                                         const Environment& environment);
/// A note if the user may not create the log of a run where it goes without --log-dir.
[[nodiscard]] std::optional<workflows::Mistake> find_log_note(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
