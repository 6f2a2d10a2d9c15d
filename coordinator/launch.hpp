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
  int cores = 1;
  bool is_root = false;
};

/// Processes that the workflow's components have together.
[[nodiscard]] int count_processes(const workflows::Workflow& workflow);

/// The processors that this process may use.
[[nodiscard]] int usable_cores();

/// SLUICE_RULES for `component`: the rules that name it.
[[nodiscard]] std::string rules_for(const workflows::Workflow& workflow, const std::string& component);

/// How `component` is started: design §2 and §12, docs/workflow-reference.md.
[[nodiscard]] LaunchPlan plan_launch(const workflows::Workflow& workflow,
                                     const workflows::Component& component, const LaunchContext& context);

}  // namespace sluice::coordinator
