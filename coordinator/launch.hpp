#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A process to start.
struct LaunchPlan {
  std::vector<std::string> arguments;  ///< the program first
  Environment environment;             ///< whole
  std::filesystem::path directory;
  bool by_launcher = false;
};

/// What is the same for all components of a run.
struct LaunchContext {
  Environment environment;  ///< of sluice, without a surrounding job
  std::string socket_path;
  std::filesystem::path client_library;
  int cores = 1;  ///< of a node
  int nodes = 1;
  bool is_root = false;
  Environment matcher_variables;  ///< by which processes find their matcher, beside the socket
};

/// Lets mpirun run as root, where that is what we are.
void allow_root(Environment& environment, const LaunchContext& context);

/// In a job of Slurm, mpirun starts its daemons by srun, each time as a step; without this, a step has its
/// processors for itself, and the next one waits until the first has ended.
void share_allocation(Environment& environment);

/// Processes that the workflow's components have together.
[[nodiscard]] int count_processes(const workflows::Workflow& workflow);

/// The processors that this process may use.
[[nodiscard]] int usable_cores();

/// Whether the component is started by the launcher.
[[nodiscard]] bool is_launched(const workflows::Workflow& workflow, const workflows::Component& component);

/// Whether ranks may run on other nodes, by what the component's options tell the launcher.
[[nodiscard]] bool names_hosts(const workflows::Component& component);

/// mpirun with its options, up to the program.
[[nodiscard]] std::vector<std::string> mpirun_arguments(const workflows::Workflow& workflow,
                                                        const workflows::Component& component,
                                                        const Environment& environment);

/// srun with what Sluice adds: steps share the allocation. `options`: the user's, which have precedence.
[[nodiscard]] std::vector<std::string> srun_words(const std::vector<std::string>& options = {});

/// What a component's launcher is started with, before Sluice adds its own.
[[nodiscard]] Environment launch_environment(const workflows::Component& component,
                                             const LaunchContext& context);

/// SLUICE_RULES for `component`: the rules that name it.
[[nodiscard]] std::string rules_for(const workflows::Workflow& workflow, const std::string& component);

/// SLUICE_OTHERS for `component`: the rules that do not.
[[nodiscard]] std::string other_rules_for(const workflows::Workflow& workflow, const std::string& component);

/// How `component` is started: docs/workflow-reference.md. `terminals`: the prefix of its ranks' terminals
/// (rank_terminals.hpp); empty when they have none.
[[nodiscard]] LaunchPlan plan_launch(const workflows::Workflow& workflow,
                                     const workflows::Component& component, const LaunchContext& context,
                                     const std::filesystem::path& terminals = {});

}  // namespace sluice::coordinator
