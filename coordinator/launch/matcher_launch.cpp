#include "matcher_launch.hpp"

#include <algorithm>
#include <optional>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "sluice/runtime/spill_file.hpp"
#include "whole_number.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* virtual_nodes_variable = "SLUICE_VIRTUAL_NODES";
constexpr int most_virtual_nodes = 64;

std::optional<int> positive_number(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  return std::max(whole_number<int>(found->second).value_or(0), 0);
}

/// Places the first matchers on this machine, in any order of mpirun's nodes.
void add_contexts_of_nodes(std::vector<std::string>& arguments, const MatcherJobSize& size,
                           const std::vector<std::string>& rank_command) {
  const auto add = [&](const std::string& hosts, int nodes) {
    arguments.insert(arguments.end(), {"--host", hosts, "-n", std::to_string(nodes * size.per_node)});
    arguments.insert(arguments.end(), rank_command.begin(), rank_command.end());
  };
  const std::string slots = ':' + std::to_string(size.per_node);
  add(size.node_names.front() + slots, 1);
  std::string others;
  for (std::size_t i = 1; i < size.node_names.size(); ++i)
    others += (others.empty() ? "" : ",") + size.node_names[i] + slots;
  arguments.emplace_back(":");
  add(others, size.nodes - 1);
}

}  // namespace

MatcherJobSize matcher_job_size(const workflows::Workflow& workflow, const Environment& environment,
                                const JobNodes& job_nodes) {
  MatcherJobSize size;
  size.per_node = workflow.matchers;
  size.has_huge_pages = workflow.has_huge_pages;
  size.by_srun = traits_of(workflow.launcher).is_of_allocation;
  if (job_nodes.are_several()) {
    size.node_names = job_nodes.names;
    size.nodes = static_cast<int>(size.node_names.size());
  }
  if (const auto nodes = positive_number(environment, virtual_nodes_variable)) {
    if (*nodes == 0 || *nodes > most_virtual_nodes) {
      throw Error(NC_EINVAL, std::string(virtual_nodes_variable) + " is \"" +
                                 environment.at(virtual_nodes_variable) +
                                 "\", but must be a number from 1 to " + std::to_string(most_virtual_nodes) +
                                 ". Unset the variable to run without virtual nodes");
    }
    if (*nodes > 1 && !size.node_names.empty()) {
      throw Error(NC_EINVAL, std::string(virtual_nodes_variable) + " is set, but the run uses " +
                                 std::to_string(size.nodes) + " machines: unset the variable");
    }
    if (size.node_names.empty()) size.nodes = *nodes;
    size.is_virtual = *nodes > 1;
  }
  return size;
}

Environment matcher_variables(const MatcherJobSize& size) {
  if (!size.is_job()) return {};
  return {{"SLUICE_MATCHERS", std::to_string(size.per_node)},
          {virtual_nodes_variable, std::to_string(size.is_virtual ? size.nodes : 1)}};
}

std::vector<std::string> matcher_options(const MatcherJobSize& size) {
  if (size.has_huge_pages) return {};
  return {"--huge-pages", "off"};
}

LaunchPlan plan_matchers(const MatcherJobSize& size, const LaunchContext& context,
                         const std::filesystem::path& program, const RunDirectory& directory) {
  LaunchPlan plan;
  plan.by_launcher = true;
  plan.environment = context.environment;
  allow_root(plan.environment, context);
  share_allocation(plan.environment);
  plan.environment.emplace("OMPI_MCA_mpi_yield_when_idle", "1");
  plan.environment.emplace(runtime::launcher_variable, directory.socket().string());
  // `env` sets the variable for the ranks, so that the launcher itself is not taken for a rank.
  std::vector<std::string> rank_command{"env",
                                        runtime::matcher_mark(directory.socket()),
                                        program.string(),
                                        "--socket",
                                        directory.socket().string(),
                                        "--coordinator",
                                        directory.coordinator_socket().string()};
  for (std::string& word : matcher_options(size)) rank_command.push_back(std::move(word));
  if (size.by_srun && !size.is_virtual) {
    if (!size.node_names.empty()) rank_command.insert(rank_command.end(), {"--machines", "several"});
    plan.arguments = srun_words();
    plan.arguments.insert(plan.arguments.end(),
                          {"-N", std::to_string(size.nodes), "-n", std::to_string(size.total()),
                           "--ntasks-per-node=" + std::to_string(size.per_node), "--distribution=block"});
    plan.arguments.insert(plan.arguments.end(), rank_command.begin(), rank_command.end());
    return plan;
  }
  plan.arguments = {context.matcher_launcher, "--oversubscribe", "--bind-to", "none"};
  if (!size.node_names.empty()) {
    plan.environment.erase(
        "OMPI_MCA_orte_default_hostfile");  // the default hostfile may not contain this machine
    rank_command.insert(rank_command.end(), {"--machines", "several"});
    plan.arguments.insert(plan.arguments.end(),
                          {"--map-by", "ppr:" + std::to_string(size.per_node) + ":node"});
    add_contexts_of_nodes(plan.arguments, size, rank_command);
    return plan;
  }
  if (size.is_virtual)
    rank_command.insert(rank_command.end(), {"--virtual-nodes", std::to_string(size.nodes)});
  plan.arguments.insert(plan.arguments.end(), {"-n", std::to_string(size.total())});
  plan.arguments.insert(plan.arguments.end(), rank_command.begin(), rank_command.end());
  return plan;
}

SpillChoice choose_spill(const workflows::Workflow& workflow, const Environment& environment) {
  if (!workflow.has_automatic_spill) return {workflow.spill_directory, false, ""};
  SpillChoice choice{{}, true, ""};
  const auto temporary = environment.find("TMPDIR");
  const std::filesystem::path candidates[] = {std::filesystem::absolute(workflow.file).parent_path(),
                                              temporary == environment.end() ? "/tmp" : temporary->second};
  for (const std::filesystem::path& directory : candidates) {
    try {
      runtime::probe_spill_directory(directory.string());
      choice.directory = directory;
      return choice;
    } catch (const Error& error) {
      choice.trouble += (choice.trouble.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  return choice;
}

}  // namespace sluice::coordinator
