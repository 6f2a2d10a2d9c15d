#include "matcher_launch.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* virtual_nodes_variable = "SLUICE_VIRTUAL_NODES";
constexpr int most_virtual_nodes = 64;

std::optional<int> positive_number(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  const std::string& text = found->second;
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && rest == text.data() + text.size() && value > 0;
  return is_number ? value : 0;
}

}  // namespace

MatcherJobSize matcher_job_size(const workflows::Workflow& workflow, const Environment& environment) {
  MatcherJobSize size;
  size.per_node = workflow.matchers;
  if (const auto nodes = positive_number(environment, virtual_nodes_variable)) {
    if (*nodes == 0 || *nodes > most_virtual_nodes) {
      throw Error(NC_EINVAL, std::string(virtual_nodes_variable) + " is \"" +
                                 environment.at(virtual_nodes_variable) + "\": it is a number from 1 to " +
                                 std::to_string(most_virtual_nodes) +
                                 "; unset it to use the machine as it is");
    }
    size.nodes = *nodes;
    size.is_virtual = *nodes > 1;
  } else if (workflow.launcher.kind == workflows::Launcher::Kind::mpirun) {
    size.nodes = std::max(positive_number(environment, "SLURM_JOB_NUM_NODES").value_or(1), 1);
  }
  return size;
}

Environment matcher_variables(const MatcherJobSize& size) {
  if (!size.is_job()) return {};
  return {{"SLUICE_MATCHERS", std::to_string(size.per_node)},
          {virtual_nodes_variable, std::to_string(size.is_virtual ? size.nodes : 1)}};
}

LaunchPlan plan_matchers(const MatcherJobSize& size, const LaunchContext& context,
                         const std::filesystem::path& program, const RunDirectory& directory) {
  LaunchPlan plan;
  plan.by_launcher = true;
  plan.environment = context.environment;
  allow_root(plan.environment, context);
  plan.environment.emplace("OMPI_MCA_mpi_yield_when_idle", "1");
  plan.arguments = {"mpirun", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(size.total())};
  if (size.nodes > 1 && !size.is_virtual)
    plan.arguments.insert(plan.arguments.end(),
                          {"--map-by", "ppr:" + std::to_string(size.per_node) + ":node"});
  // The ranks get it by `env`, so that the launcher itself is not taken for one of them.
  plan.arguments.insert(plan.arguments.end(), {"env", matcher_mark(directory.socket()), program.string(),
                                               "--socket", directory.socket().string(), "--coordinator",
                                               directory.coordinator_socket().string()});
  if (size.is_virtual)
    plan.arguments.insert(plan.arguments.end(), {"--virtual-nodes", std::to_string(size.nodes)});
  return plan;
}

std::string matcher_mark(const std::filesystem::path& socket) {
  return "SLUICE_MATCHER_OF=" + socket.string();
}

}  // namespace sluice::coordinator
