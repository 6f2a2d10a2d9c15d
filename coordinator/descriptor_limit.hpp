#pragma once
#include <cstdint>
#include <string>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Descriptors that `sluice run` needs for the workflow: its own, and the components' pipes.
[[nodiscard]] std::uint64_t least_descriptors(const workflows::Workflow& workflow);

/// Whether the limit on open files leaves room for terminals of all ranks, too.
[[nodiscard]] bool has_room_for_terminals(const workflows::Workflow& workflow);

/// Why the limit on open files is too low for the workflow, and what to do; empty when it is not.
[[nodiscard]] std::string descriptor_problem(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
