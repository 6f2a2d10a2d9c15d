#pragma once
#include <optional>
#include <string>
#include <vector>

#include "environment.hpp"
#include "inspection.hpp"
#include "installation.hpp"
#include "program_lookup.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// What keeps the workflow from running here: missing directories, programs, launcher. In the file's order.
[[nodiscard]] std::vector<workflows::Mistake> find_obstacles(const workflows::Workflow& workflow,
                                                             const Environment& environment);

/// The first line of `mpirun --version`; empty when there is no mpirun.
[[nodiscard]] std::string launcher_version(const Environment& environment);

/// What is missing of Sluice itself; empty when nothing is. One line of what, one of what to do.
[[nodiscard]] std::string find_missing_parts(const Installation& installation);

/// The program of `component` as it will be found.
[[nodiscard]] FoundProgram find_program_of(const workflows::Component& component,
                                           const Environment& environment);

/// What an inspection of a component's program found; nothing when the program was not found.
[[nodiscard]] std::optional<Inspection> inspect_program_of(const workflows::Workflow& workflow,
                                                           const workflows::Component& component,
                                                           const Environment& environment);

/// inspect_program_of() of all components, in their order.
using Inspections = std::vector<std::optional<Inspection>>;
[[nodiscard]] Inspections inspect_programs(const workflows::Workflow& workflow,
                                           const Environment& environment);

/// Programs that can run but that Sluice cannot couple, or that will not load.
[[nodiscard]] std::vector<workflows::Mistake> find_unfit_programs(const workflows::Workflow& workflow,
                                                                  const Inspections& inspections);

/// Whether a file rule names `component`.
[[nodiscard]] bool is_coupled(const workflows::Workflow& workflow, const std::string& component);

}  // namespace sluice::coordinator
