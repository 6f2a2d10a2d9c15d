#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "environment.hpp"
#include "inspection.hpp"
#include "installation.hpp"
#include "program_lookup.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Other nodes of a run may have more memory than this machine, but not so many times more.
inline constexpr std::uint64_t beyond_other_nodes = 100;

/// Finds the obstacles that keep the workflow from running here: missing directories, programs, launcher. In
/// the file's order.
[[nodiscard]] std::vector<workflows::Mistake> find_obstacles(const workflows::Workflow& workflow,
                                                             const Environment& environment);

/// Names the missing parts of Sluice itself: one line with the parts, one with the remedy. Empty if no part
/// is missing.
[[nodiscard]] std::string find_missing_parts(const Installation& installation);

/// Looks up the program of `component`.
[[nodiscard]] FoundProgram find_program_of(const workflows::Component& component,
                                           const Environment& environment);

/// Inspects the program of a component. Returns nothing if the program was not found.
[[nodiscard]] std::optional<Inspection> inspect_program_of(const workflows::Workflow& workflow,
                                                           const workflows::Component& component,
                                                           const Environment& environment);

/// The results of inspect_program_of() for all components, in their order.
using Inspections = std::vector<std::optional<Inspection>>;
[[nodiscard]] Inspections inspect_programs(const workflows::Workflow& workflow,
                                           const Environment& environment);

/// Statically linked programs do not ask matchers for the files of rules with `expose: true`: nothing waits
/// for them.
void release_static_readers(workflows::Workflow& workflow, const Inspections& inspections);

/// Finds programs that will not load, and programs that Sluice cannot couple.
[[nodiscard]] std::vector<workflows::Mistake> find_unfit_programs(const workflows::Workflow& workflow,
                                                                  const Inspections& inspections);

/// Finds facts that the user should know about programs that can be coupled.
[[nodiscard]] std::vector<workflows::Mistake> find_program_notes(const workflows::Workflow& workflow,
                                                                 const Inspections& inspections);

/// Whether the rule says when files are visible, or safe, before they are closed: that holds for PnetCDF
/// alone.
[[nodiscard]] bool promises_more_than_closes(const workflows::FileRule& rule) noexcept;

/// Whether a file rule names `component`.
[[nodiscard]] bool is_coupled(const workflows::Workflow& workflow, const std::string& component);
/// Whether it writes files of a rule.
[[nodiscard]] bool is_writer(const workflows::Workflow& workflow, const std::string& component);

}  // namespace sluice::coordinator
