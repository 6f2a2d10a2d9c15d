#include "job_nodes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "child_process.hpp"
#include "launch.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Mistake;
using workflows::Workflow;

/// Of mpirun, and of the allocations that it knows.
constexpr std::array<const char*, 9> variables_of_nodes{"OMPI_MCA_orte_default_hostfile",
                                                        "OMPI_MCA_orte_rankfile",
                                                        "OMPI_MCA_rmaps_rank_file_path",
                                                        "OMPI_MCA_rmaps_seq_file",
                                                        "SLURM_JOB_ID",
                                                        "SLURM_JOBID",
                                                        "PE_HOSTFILE",
                                                        "PBS_NODEFILE",
                                                        "LSB_DJOB_HOSTFILE"};

std::string own_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// mpirun leaves domains out.
std::string without_domain(const std::string& name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
  return is_address ? name : name.substr(0, name.find('.'));
}

bool is_rule(const std::string& line) {
  return line.find_first_not_of("-= \t") == std::string::npos;
}

/// mpirun's message without its frame, on one line a line.
std::string reason_in(const std::string& output) {
  std::istringstream lines(output);
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    if (!is_rule(line)) reason += "\n    " + line;
  }
  return reason.empty() ? " it says nothing" : reason;
}

std::string ask_for_map(const Workflow& workflow, const Component& component,
                        const Environment& environment) {
  ChildOptions child;
  child.arguments = launcher_arguments(workflow, component, environment);
  child.arguments.insert(child.arguments.end(), {"--do-not-launch", "--display-map", "true"});
  child.program = child.arguments.front();
  child.environment = environment;
  child.directory = component.directory;
  return output_of(std::move(child));
}

}  // namespace

bool may_be_elsewhere(const Workflow& workflow, const Component& component, const Environment& environment) {
  if (!is_launched(workflow, component)) return false;
  if (!workflow.hostfile.empty() || names_hosts(component)) return true;
  return std::any_of(variables_of_nodes.begin(), variables_of_nodes.end(),
                     [&](const char* name) { return environment.contains(name); });
}

std::vector<std::string> nodes_in_map(std::string_view text) {
  constexpr std::string_view label = "Data for node: ";
  std::vector<std::string> nodes;
  for (std::size_t at = text.find(label); at != std::string_view::npos; at = text.find(label, at)) {
    at += label.size();
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    std::string name(text.substr(at, end - at));
    if (!name.empty() && std::find(nodes.begin(), nodes.end(), name) == nodes.end())
      nodes.push_back(std::move(name));
  }
  return nodes;
}

JobNodes find_job_nodes(const Workflow& workflow, const Environment& environment,
                        std::vector<Mistake>& mistakes) {
  const std::string here = without_domain(own_name());
  JobNodes nodes;
  nodes.names.push_back(here);
  for (const Component& component : workflow.components) {
    LaunchContext context;
    context.environment = environment;
    context.is_root = ::geteuid() == 0;
    const Environment started = launch_environment(component, context);
    if (!may_be_elsewhere(workflow, component, started)) continue;
    const std::string output = ask_for_map(workflow, component, started);
    const std::vector<std::string> found = nodes_in_map(output);
    if (found.empty()) {
      mistakes.push_back({component.position, "mpirun cannot place the ranks of component '" +
                                                  component.name + "':" + reason_in(output)});
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
