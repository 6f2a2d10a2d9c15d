#pragma once
#include <cstdint>
#include <string>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The number of descriptors that `sluice run` needs for the workflow: its own, and the components' pipes.
[[nodiscard]] std::uint64_t least_descriptors(const workflows::Workflow& workflow);

/// Whether the limit on open files also allows terminals for all ranks.
[[nodiscard]] bool can_have_terminals(const workflows::Workflow& workflow);

/// Says why the limit on open files is too low for the workflow, and what the user can do. Empty if the limit
/// suffices.
[[nodiscard]] std::string descriptor_problem(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
