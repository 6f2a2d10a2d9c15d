#pragma once
#include <vector>

#include "environment.hpp"
#include "readiness.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Notes of `sluice check` on what is allowed, and is often a slip: copies of a serial program, launchers
/// within launchers, and components that start in different directories.
[[nodiscard]] std::vector<workflows::Mistake> find_slips(const workflows::Workflow& workflow,
                                                         const Inspections& inspections,
                                                         const Environment& environment);

}  // namespace sluice::coordinator
