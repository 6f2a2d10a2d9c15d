#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "environment.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The machines that the processes of a run will be on: each needs matchers.
struct JobNodes {
  /// This one first, then the others, by the names that the launcher has for them; empty: this one alone.
  std::vector<std::string> names;
  std::set<std::string> components_elsewhere;  ///< those that have ranks on other machines

  [[nodiscard]] bool are_several() const noexcept { return names.size() > 1; }
};

/// Whether mpirun may place ranks on other machines: options, a hostfile, mpirun's own variables, or an
/// allocation say so.
[[nodiscard]] bool may_be_elsewhere(const workflows::Workflow& workflow,
                                    const workflows::Component& component, const Environment& environment);

/// The nodes in what `mpirun --display-map` prints, in its order; none when there is no map.
[[nodiscard]] std::vector<std::string> nodes_in_map(std::string_view text);

/// Asks mpirun where it would place the ranks of each component that may be elsewhere, without starting any;
/// with srun, it is all nodes of the allocation. What is refused goes to `mistakes`. `environment`: that of
/// `sluice`, without a surrounding job.
[[nodiscard]] JobNodes find_job_nodes(const workflows::Workflow& workflow, const Environment& environment,
                                      std::vector<workflows::Mistake>& mistakes);

}  // namespace sluice::coordinator
