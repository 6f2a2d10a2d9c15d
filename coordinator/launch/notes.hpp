#pragma once
#include <vector>

#include "readiness.hpp"

namespace sluice::coordinator {

/// Finds facts about a workflow that can run and that the user should know: uncoupled components, cycles, and
/// resources that the machine lacks. In the file's order.
[[nodiscard]] std::vector<workflows::Mistake> find_notes(const workflows::Workflow& workflow,
                                                         const Inspections& inspections);

}  // namespace sluice::coordinator
