#pragma once
#include <vector>

#include "readiness.hpp"

namespace sluice::coordinator {

/// What is worth knowing of a workflow that can run: components that nothing couples, cycles, what the
/// machine has too little of. In the file's order.
[[nodiscard]] std::vector<workflows::Mistake> find_notes(const workflows::Workflow& workflow,
                                                         const Inspections& inspections);

}  // namespace sluice::coordinator
