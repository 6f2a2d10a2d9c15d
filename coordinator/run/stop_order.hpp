#pragma once
#include <set>
#include <string>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The components that are asked to stop first: those that read from no other component, or only from those
/// that read from them, too. The others then read what is there, and come to its end.
[[nodiscard]] std::set<std::string> first_to_stop(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
