#pragma once
#include <vector>

#include "readiness.hpp"

namespace sluice::coordinator {

/// Where the log directory of a run is: beside the workflow file, or where --log-dir says.
enum class LogPlace { usual, named };

/// Finds facts about a workflow that can run and that the user should know: uncoupled components, cycles,
/// directories without permission, and resources that the machine lacks. In the file's order.
[[nodiscard]] std::vector<workflows::Mistake> find_notes(const workflows::Workflow& workflow,
                                                         const Inspections& inspections, LogPlace logs);

}  // namespace sluice::coordinator
