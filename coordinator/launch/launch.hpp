#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "environment.hpp"
#include "launchers.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A process to start.
struct LaunchPlan {
  std::vector<std::string> arguments;  ///< starts with the program
  Environment environment;             ///< the complete environment
  std::filesystem::path directory;
  bool by_launcher = false;
};

/// The settings that all components of a run share.
struct LaunchContext {
  Environment environment;  ///< the environment of sluice without a surrounding job
  std::string socket_path;
  std::filesystem::path preload_library;
  std::filesystem::path files_library;  ///< empty: there is none
  int cores = 1;                        ///< cores of one node
  int nodes = 1;
  bool is_root = false;
  std::string matcher_launcher = "mpirun";  ///< Open MPI's
  Environment matcher_variables;  ///< processes find their matcher by these variables and the socket
};

/// Lets mpirun run as root if this process runs as root.
void allow_root(Environment& environment, const LaunchContext& context);

/// Lets the steps of a Slurm job share processors. In a Slurm job, mpirun starts its daemons by srun, each
/// time as a step. By default a step has its processors for itself, and the next step waits for the end of
/// the first.
void share_allocation(Environment& environment);

/// The number of processes of all components of the workflow.
[[nodiscard]] int count_processes(const workflows::Workflow& workflow);

/// The number of processors that this process may use.
[[nodiscard]] int usable_cores();

/// The environment of a component's launcher, before Sluice adds its own variables.
[[nodiscard]] Environment launch_environment(const workflows::Component& component,
                                             const LaunchContext& context);

/// The value of SLUICE_RULES for `component`: the rules that name the component.
[[nodiscard]] std::string rules_for(const workflows::Workflow& workflow, const std::string& component);

/// The value of SLUICE_OTHERS for `component`: the rules that do not name the component.
[[nodiscard]] std::string other_rules_for(const workflows::Workflow& workflow, const std::string& component);

/// Plans the start of `component` as docs/launching.md describes it. `terminals`: the path prefix of
/// its ranks' terminals (rank_terminals.hpp); empty if the ranks have no terminals.
[[nodiscard]] LaunchPlan plan_launch(const workflows::Workflow& workflow,
                                     const workflows::Component& component, const LaunchContext& context,
                                     const std::filesystem::path& terminals = {});
/// The process of the plan, whose output is not set yet.
[[nodiscard]] ChildOptions child_of(const LaunchPlan& plan);

}  // namespace sluice::coordinator
