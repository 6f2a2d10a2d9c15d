#pragma once
#include <ctime>
#include <string>
#include <vector>

#include "summary.hpp"

namespace sluice::coordinator {

/// Finds files that the workflow intends to couple and that the run did not couple, and old files that a
/// component may have read instead. Each warning is one line, with a remedy. Omits components that failed by
/// themselves.
[[nodiscard]] std::vector<std::string> find_coupling_warnings(const workflows::Workflow& workflow,
                                                              const RunOutcome& outcome);

}  // namespace sluice::coordinator
