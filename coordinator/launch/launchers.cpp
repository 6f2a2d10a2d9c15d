#include "launchers.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Launcher;
using workflows::Workflow;
using Kind = Launcher::Kind;

bool any_contains(const std::vector<std::string>& options, std::string_view text) {
  return std::any_of(options.begin(), options.end(),
                     [&](const std::string& option) { return option.find(text) != std::string::npos; });
}

/// Whether the user binds or maps ranks.
bool user_places_ranks(const Component& component, const Environment& environment) {
  constexpr std::array<std::string_view, 9> options{"bind-to",        "map-by",         "rank-by",
                                                    "cpu-set",        "cpu-list",       "rankfile",
                                                    "binding_policy", "mapping_policy", "cpus-per-"};
  const bool by_option = std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    return any_contains(component.launcher_options, option);
  });
  return by_option || environment.contains("OMPI_MCA_hwloc_base_binding_policy") ||
         environment.contains("OMPI_MCA_rmaps_base_mapping_policy");
}

/// Whether the options contain a list of nodes for mpirun.
bool lists_hosts(const Component& component) {
  return any_contains(component.launcher_options, "hostfile") ||
         any_contains(component.launcher_options, "machinefile");
}

LauncherWords mpirun_words(const Workflow& workflow, const Component& component,
                           const Environment& environment) {
  std::vector<std::string> arguments{launcher_name(launcher_of(workflow, component))};
  if (!any_contains(component.launcher_options, "oversubscribe")) arguments.emplace_back("--oversubscribe");
  if (!user_places_ranks(component, environment)) arguments.insert(arguments.end(), {"--bind-to", "none"});
  if (!workflow.hostfile.empty() && !lists_hosts(component))
    arguments.insert(arguments.end(), {"--hostfile", workflow.hostfile.string()});
  arguments.insert(arguments.end(), {"-n", std::to_string(component.ranks)});
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  return {std::move(arguments), {}};
}

LauncherWords hydra_words(const Workflow& workflow, const Component& component,
                          const Environment& /*environment*/) {
  std::vector<std::string> arguments{launcher_name(launcher_of(workflow, component))};
  const bool has_own_hosts =
      any_contains(component.launcher_options, "host") || lists_hosts(component) ||
      std::ranges::find(component.launcher_options, "-f") != component.launcher_options.end();
  if (!workflow.hostfile.empty() && !has_own_hosts)
    arguments.insert(arguments.end(), {"-hosts", hydra_hosts(workflow.hostfile)});
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  arguments.insert(arguments.end(), {"-n", std::to_string(component.ranks)});
  return {std::move(arguments), {}};
}

LauncherWords srun_step_words(const Workflow& /*workflow*/, const Component& component,
                              const Environment& /*environment*/) {
  std::vector<std::string> arguments = srun_words(component.launcher_options);
  arguments.insert(arguments.end(), {"-n", std::to_string(component.ranks)});
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  return {std::move(arguments), {}};
}

/// {program} is the last word of nearly all launchers.
LauncherWords custom_words(const Workflow& workflow, const Component& component,
                           const Environment& /*environment*/) {
  const std::vector<std::string>& command = launcher_of(workflow, component).command;
  const auto program = std::find(command.begin(), command.end(), workflows::program_placeholder);
  LauncherWords words;
  const auto with_ranks = [&](std::string word) {
    for (std::size_t at = word.find(workflows::ranks_placeholder); at != std::string::npos;
         at = word.find(workflows::ranks_placeholder, at))
      word.replace(at, workflows::ranks_placeholder.size(), std::to_string(component.ranks));
    return word;
  };
  std::transform(command.begin(), program, std::back_inserter(words.before), with_ranks);
  words.before.insert(words.before.end(), component.launcher_options.begin(),
                      component.launcher_options.end());
  if (program != command.end())
    std::transform(program + 1, command.end(), std::back_inserter(words.behind), with_ranks);
  return words;
}

/// Ranks that a program starts by MPI_Comm_spawn have the environment of Open MPI's daemon, and what mpirun
/// is told to hand on: by a list, or by options, but not by both.
void hand_on_to_spawned(std::vector<std::string>& arguments, Environment& environment,
                        const Component& component, const Environment& own) {
  const std::string list_name = "OMPI_MCA_mca_base_env_list";
  const auto& options = component.launcher_options;
  if (any_contains(options, "mca_base_env_list")) return;
  if (std::ranges::find(options, "-x") != options.end()) {
    for (const auto& [name, value] : own) arguments.insert(arguments.end(), {"-x", name + '=' + value});
    return;
  }
  std::string& list = environment[list_name];
  for (const auto& [name, value] : own) {
    const bool is_of_launcher = name != "LD_PRELOAD" && name != "SLUICE_COMPONENT";
    list += (list.empty() ? "" : ";") + (is_of_launcher ? name : name + '=' + value);
  }
}

/// The component has no ranks, and its command is started as it is.
LauncherWords no_words(const Workflow& /*workflow*/, const Component& /*component*/,
                       const Environment& /*environment*/) {
  return {};
}

const std::array<LauncherTraits, 5>& launchers() {
  static const std::array<LauncherTraits, 5> all{{
      {.kind = Kind::mpirun,
       .program = "mpirun",
       .mpi = MpiFamily::open_mpi,
       .words = mpirun_words,
       .map_words = {"--do-not-launch", "--display-map", "true"},
       .hand_on = hand_on_to_spawned},
      {.kind = Kind::hydra,
       .program = "mpiexec.hydra",
       .mpi = MpiFamily::mpich,
       .words = hydra_words,
       // It has no such option: small ranks tell it.
       .map_words = {"sh", "-c", "echo \"" + std::string(node_label) + "$(uname -n)\""}},
      {.kind = Kind::srun, .program = "srun", .words = srun_step_words, .is_of_allocation = true},
      {.kind = Kind::custom, .words = custom_words},
      {.kind = Kind::none, .words = no_words},
  }};
  return all;
}

}  // namespace

const LauncherTraits& traits_of(const Launcher& launcher) {
  return *std::ranges::find(launchers(), launcher.kind, &LauncherTraits::kind);
}

std::string launcher_name(const Launcher& launcher) {
  return launcher.command.empty() ? std::string(traits_of(launcher).program) : launcher.command.front();
}

bool is_launched(const Workflow& workflow, const Component& component) {
  return component.ranks > 0 && launcher_of(workflow, component).kind != Kind::none;
}

bool names_hosts(const Component& component) {
  if (std::ranges::find(component.launcher_options, "-f") != component.launcher_options.end())
    return true;  // HYDRA's
  constexpr std::array<std::string_view, 6> options{"host", "-H", "machinefile", "rankfile", "-rf", "seq"};
  return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    return any_contains(component.launcher_options, option);
  });
}

std::string hydra_hosts(const std::filesystem::path& hostfile) {
  std::ifstream file(hostfile);
  std::string hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host;
    if (!(words >> host)) continue;
    for (std::string word; words >> word;)
      if (word.starts_with("slots=")) host += ':' + word.substr(word.find('=') + 1);
    hosts += (hosts.empty() ? "" : ",") + host;
  }
  return hosts;
}

std::vector<std::string> srun_words(const std::vector<std::string>& options) {
  std::vector<std::string> words{"srun", "--overlap", "--kill-on-bad-exit=1"};
  if (!any_contains(options, "--mpi")) words.emplace_back("--mpi=pmix");
  if (!any_contains(options, "cpu-bind")) words.emplace_back("--cpu-bind=none");
  return words;
}

}  // namespace sluice::coordinator
