#pragma once
#include <string>
#include <vector>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// What a run of the workflow will do, in sentences: what starts when, how files pass, what is waited for,
/// what is discarded. Members of an ensemble are one.
[[nodiscard]] std::vector<std::string> foretell(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
