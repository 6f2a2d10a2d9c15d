#include "job_nodes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "child_process.hpp"
#include "format.hpp"
#include "launch.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Mistake;
using workflows::Workflow;

/// Variables of launchers, and of the allocations that launchers support.
constexpr std::array<const char*, 10> variables_of_nodes{"HYDRA_HOST_FILE",
                                                         "OMPI_MCA_orte_default_hostfile",
                                                         "OMPI_MCA_orte_rankfile",
                                                         "OMPI_MCA_rmaps_rank_file_path",
                                                         "OMPI_MCA_rmaps_seq_file",
                                                         "SLURM_JOB_ID",
                                                         "SLURM_JOBID",
                                                         "PE_HOSTFILE",
                                                         "PBS_NODEFILE",
                                                         "LSB_DJOB_HOSTFILE"};

std::string own_name() {
  const std::string name = host_name();
  return name.empty() ? "localhost" : name;
}

/// Removes the domain, as mpirun does.
std::string without_domain(const std::string& name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
  return is_address ? name : name.substr(0, name.find('.'));
}

bool is_rule(const std::string& line) {
  return line.find_first_not_of("-= \t") == std::string::npos;
}

/// The text of mpirun's message without its frame, on one line.
std::string reason_in(const std::string& output) {
  std::istringstream lines(output);
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    if (!is_rule(line)) reason += "\n    " + line;
  }
  return reason.empty() ? " it says nothing" : reason;
}

/// The launcher's answer where it would place the ranks.
std::string ask_for_map(const Workflow& workflow, const Component& component,
                        const Environment& environment) {
  ChildOptions child;
  const LauncherTraits& launcher = traits_of(launcher_of(workflow, component));
  child.arguments = launcher.words(workflow, component, environment).before;
  child.arguments.insert(child.arguments.end(), launcher.map_words.begin(), launcher.map_words.end());
  child.program = child.arguments.front();
  child.environment = environment;
  child.directory = component.directory;
  return output_of(std::move(child));
}

/// Steps of srun may run anywhere in the allocation. Matcher 0 is the first task, on the allocation's first
/// node.
JobNodes nodes_of_allocation(const Workflow& workflow, const Environment& environment,
                             std::vector<Mistake>& mistakes) {
  const auto first =
      std::find_if(workflow.components.begin(), workflow.components.end(),
                   [&](const Component& component) { return is_launched(workflow, component); });
  if (first == workflow.components.end()) return {};
  const auto list = environment.find("SLURM_JOB_NODELIST");
  if (!environment.contains("SLURM_JOB_ID") || list == environment.end()) {
    mistakes.push_back(
        {first->position, "component '" + first->name +
                              "' has ranks, and 'launcher' is srun, which needs an allocation: "
                              "start `sluice run` in a job, by sbatch or salloc"});
    return {};
  }
  ChildOptions child;
  child.program = "scontrol";
  child.arguments = {"scontrol", "show", "hostnames", list->second};
  child.environment = environment;
  std::istringstream lines(output_of(std::move(child)));
  JobNodes nodes;
  for (std::string name; lines >> name;) nodes.names.push_back(name);
  if (nodes.names.empty() || without_domain(nodes.names.front()) != without_domain(own_name())) {
    mistakes.push_back(
        {first->position, "`sluice run` runs on " + own_name() +
                              ", but 'launcher: srun' needs the first node of the allocation " +
                              list->second + ": start `sluice run` by sbatch"});
  }
  for (const Component& component : workflow.components) {
    if (nodes.are_several() && is_launched(workflow, component))
      nodes.components_elsewhere.insert(component.name);
  }
  return nodes;
}

}  // namespace

bool may_be_elsewhere(const Workflow& workflow, const Component& component, const Environment& environment) {
  if (!is_launched(workflow, component) || traits_of(launcher_of(workflow, component)).map_words.empty())
    return false;
  if (!workflow.hostfile.empty() || names_hosts(component)) return true;
  return std::any_of(variables_of_nodes.begin(), variables_of_nodes.end(),
                     [&](const char* name) { return environment.contains(name); });
}

std::vector<std::string> nodes_in_map(std::string_view text) {
  std::vector<std::string> nodes;
  for (std::size_t at = text.find(node_label); at != std::string_view::npos; at = text.find(node_label, at)) {
    at += node_label.size();
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    std::string name(text.substr(at, end - at));
    if (!name.empty() && std::find(nodes.begin(), nodes.end(), name) == nodes.end())
      nodes.push_back(std::move(name));
  }
  return nodes;
}

JobNodes find_job_nodes(const Workflow& workflow, const Environment& environment,
                        std::vector<Mistake>& mistakes) {
  if (traits_of(workflow.launcher).is_of_allocation)
    return nodes_of_allocation(workflow, environment, mistakes);
  const std::string here = without_domain(own_name());
  JobNodes nodes;
  nodes.names.push_back(here);
  std::map<std::vector<std::string>, std::string> maps;  // members of an ensemble are placed alike
  for (const Component& component : workflow.components) {
    LaunchContext context;
    context.environment = environment;
    context.is_root = ::geteuid() == 0;
    const Environment started = launch_environment(component, context);
    if (!may_be_elsewhere(workflow, component, started)) continue;
    std::vector<std::string> placed{component.ensemble.empty() ? component.name : component.ensemble};
    placed.insert(placed.end(), component.launcher_options.begin(), component.launcher_options.end());
    std::string& output = maps[placed];
    if (output.empty()) output = ask_for_map(workflow, component, started);
    const std::vector<std::string> found = nodes_in_map(output);
    if (found.empty()) {
      mistakes.push_back({component.position, launcher_name(launcher_of(workflow, component)) +
                                                  " cannot place the ranks of component '" + component.name +
                                                  "':" + reason_in(output)});
    }
    for (const std::string& name : found) {
      if (without_domain(name) == here) continue;
      nodes.components_elsewhere.insert(component.name);
      if (std::find(nodes.names.begin(), nodes.names.end(), name) == nodes.names.end())
        nodes.names.push_back(name);
    }
  }
  return nodes;
}

}  // namespace sluice::coordinator
