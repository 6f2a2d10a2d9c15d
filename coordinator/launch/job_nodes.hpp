#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "environment.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The machines that run processes of this run: each machine needs matchers.
struct JobNodes {
  /// This machine first, then the others, under the names that the launcher uses. Empty: only this machine.
  std::vector<std::string> names;
  std::set<std::string> components_elsewhere;  ///< components that have ranks on other machines

  [[nodiscard]] bool are_several() const noexcept { return names.size() > 1; }
};

/// Whether the launcher of an MPI may place ranks on other machines. Options, a hostfile, the launcher's own
/// variables, or an allocation can cause that.
[[nodiscard]] bool may_be_elsewhere(const workflows::Workflow& workflow,
                                    const workflows::Component& component, const Environment& environment);

/// The nodes in the output of `mpirun --display-map`, in its order; none if the output has no map.
[[nodiscard]] std::vector<std::string> nodes_in_map(std::string_view text);

/// Finds the nodes of the run. Asks the launcher of an MPI where it would place the ranks of each component
/// that may be elsewhere, without starting its program. For srun, takes all nodes of the allocation. Adds
/// refusals to `mistakes`. `environment`: the environment of `sluice` without a surrounding job.
[[nodiscard]] JobNodes find_job_nodes(const workflows::Workflow& workflow, const Environment& environment,
                                      std::vector<workflows::Mistake>& mistakes);

}  // namespace sluice::coordinator
