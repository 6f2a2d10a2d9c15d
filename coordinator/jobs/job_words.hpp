#pragma once
#include <string>

#include "job_queue.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The file's name without its directory, as output and messages show it.
[[nodiscard]] std::string short_name(const JobFile& file);

/// The component with {file}, {name}, {stem} and {step} replaced in its arguments and its environment. Other
/// braces stay.
[[nodiscard]] workflows::Component component_for(const workflows::Component& component, const JobFile& file);

}  // namespace sluice::coordinator
