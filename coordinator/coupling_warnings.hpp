#pragma once
#include <ctime>
#include <string>
#include <vector>

#include "readiness.hpp"
#include "summary.hpp"

namespace sluice::coordinator {

/// What a run had uncoupled that the workflow means to couple, and old files that may have been read in its
/// place: a line each, with what to do. Says nothing of components that failed by themselves.
[[nodiscard]] std::vector<std::string> find_coupling_warnings(const workflows::Workflow& workflow,
                                                              const RunOutcome& outcome,
                                                              const Inspections& inspections);

}  // namespace sluice::coordinator
