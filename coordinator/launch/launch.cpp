#include "launch.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "rank_terminals.hpp"
#include "sluice/runtime/rules.hpp"
#include "workflow_messages.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Launcher;
using workflows::Workflow;

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

/// The value of LD_PRELOAD: Sluice's libraries, then the user's libraries.
std::string preload_list(const LaunchContext& context, const Environment& environment) {
  const auto existing = environment.find("LD_PRELOAD");
  const bool is_set = existing != environment.end() && !existing->second.empty();
  std::string list = context.preload_library.string();
  if (!context.files_library.empty()) list += ':' + context.files_library.string();
  return list + (is_set ? ':' + existing->second : "");
}

/// Whether the options contain a list of nodes for mpirun.
bool lists_hosts(const Component& component) {
  return any_contains(component.launcher_options, "hostfile") ||
         any_contains(component.launcher_options, "machinefile");
}

}  // namespace

std::vector<std::string> srun_words(const std::vector<std::string>& options) {
  std::vector<std::string> words{"srun", "--overlap", "--kill-on-bad-exit=1"};
  if (!any_contains(options, "--mpi")) words.emplace_back("--mpi=pmix");
  if (!any_contains(options, "cpu-bind")) words.emplace_back("--cpu-bind=none");
  return words;
}

namespace {

std::vector<std::string> srun_arguments(const Component& component) {
  std::vector<std::string> arguments = srun_words(component.launcher_options);
  arguments.insert(arguments.end(), {"-n", std::to_string(component.ranks)});
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  return arguments;
}

/// The words up to {program}, which is the last word of nearly all launchers; later words go to `behind`.
std::vector<std::string> custom_arguments(const std::vector<std::string>& command, const Component& component,
                                          std::vector<std::string>& behind) {
  const auto program = std::find(command.begin(), command.end(), workflows::program_placeholder);
  std::vector<std::string> arguments;
  const auto with_ranks = [&](std::string word) {
    for (std::size_t at = word.find(workflows::ranks_placeholder); at != std::string::npos;
         at = word.find(workflows::ranks_placeholder, at))
      word.replace(at, workflows::ranks_placeholder.size(), std::to_string(component.ranks));
    return word;
  };
  std::transform(command.begin(), program, std::back_inserter(arguments), with_ranks);
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  if (program != command.end())
    std::transform(program + 1, command.end(), std::back_inserter(behind), with_ranks);
  return arguments;
}

}  // namespace

std::vector<std::string> mpirun_arguments(const Workflow& workflow, const Component& component,
                                          const Environment& environment) {
  std::vector<std::string> arguments{launcher_name(launcher_of(workflow, component))};
  if (!any_contains(component.launcher_options, "oversubscribe")) arguments.emplace_back("--oversubscribe");
  if (!user_places_ranks(component, environment)) arguments.insert(arguments.end(), {"--bind-to", "none"});
  if (!workflow.hostfile.empty() && !lists_hosts(component))
    arguments.insert(arguments.end(), {"--hostfile", workflow.hostfile.string()});
  arguments.insert(arguments.end(), {"-n", std::to_string(component.ranks)});
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  return arguments;
}

std::string launcher_name(const Launcher& launcher) {
  if (!launcher.command.empty()) return launcher.command.front();
  return launcher.kind == Launcher::Kind::hydra ? "mpiexec.hydra" : "mpirun";
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

std::vector<std::string> hydra_arguments(const Workflow& workflow, const Component& component) {
  std::vector<std::string> arguments{launcher_name(launcher_of(workflow, component))};
  const bool has_own_hosts =
      any_contains(component.launcher_options, "host") || lists_hosts(component) ||
      std::ranges::find(component.launcher_options, "-f") != component.launcher_options.end();
  if (!workflow.hostfile.empty() && !has_own_hosts)
    arguments.insert(arguments.end(), {"-hosts", hydra_hosts(workflow.hostfile)});
  arguments.insert(arguments.end(), component.launcher_options.begin(), component.launcher_options.end());
  arguments.insert(arguments.end(), {"-n", std::to_string(component.ranks)});
  return arguments;
}

namespace {

std::vector<std::string> launcher_arguments(const Workflow& workflow, const Component& component,
                                            const Environment& environment,
                                            std::vector<std::string>& behind) {
  const Launcher& launcher = launcher_of(workflow, component);
  switch (launcher.kind) {
    case Launcher::Kind::hydra:
      return hydra_arguments(workflow, component);
    case Launcher::Kind::srun:
      return srun_arguments(component);
    case Launcher::Kind::custom:
      return custom_arguments(launcher.command, component, behind);
    default:
      return mpirun_arguments(workflow, component, environment);
  }
}

}  // namespace

int count_processes(const Workflow& workflow) {
  int processes = 0;
  for (const Component& component : workflow.components) {
    const bool is_for_later = component.at_most > 0 && component.instance >= component.at_most;
    const int starts = component.for_each ? component.for_each->at_most : 1;
    if (!is_for_later) processes += std::max(component.ranks, 1) * starts;
  }
  return processes;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

std::string rules_for(const Workflow& workflow, const std::string& component) {
  const auto own = std::ranges::find(workflow.components, component, &Component::name);
  const bool may_restart = own != workflow.components.end() && own->failure.restarts > 0;
  std::vector<runtime::ClientRule> rules;
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    const workflows::FileRule& rule = workflow.files[i];
    const bool writes = rule.writer == component;
    const bool reads = std::find(rule.readers.begin(), rule.readers.end(), component) != rule.readers.end();
    if (writes || reads) {
      rules.push_back({static_cast<std::uint32_t>(i), rule.pattern, writes, reads, rule.through,
                       rule.is_drained(), rule.identity == matcher::Identity::name, rule.closes,
                       rule.is_stream, may_restart, rule.publish_at == matcher::PublishAt::sync,
                       rule.has_hyperslabs, rule.may_offer_steps(), rule.may_offer_reads()});
    }
  }
  return runtime::encode_rules(rules);
}

std::string other_rules_for(const Workflow& workflow, const std::string& component) {
  std::vector<runtime::OtherRule> rules;
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    const workflows::FileRule& rule = workflow.files[i];
    const bool is_named =
        rule.writer == component || std::ranges::find(rule.readers, component) != rule.readers.end();
    if (!is_named) rules.push_back({static_cast<std::uint32_t>(i), rule.pattern});
  }
  return runtime::encode_other_rules(rules);
}

std::optional<MpiFamily> family_of(const Launcher& launcher) {
  if (launcher.kind == Launcher::Kind::mpirun) return MpiFamily::open_mpi;
  if (launcher.kind == Launcher::Kind::hydra) return MpiFamily::mpich;
  return std::nullopt;
}

bool is_launched(const Workflow& workflow, const Component& component) {
  return component.ranks > 0 && launcher_of(workflow, component).kind != Launcher::Kind::none;
}

bool names_hosts(const Component& component) {
  if (std::ranges::find(component.launcher_options, "-f") != component.launcher_options.end())
    return true;  // HYDRA's
  constexpr std::array<std::string_view, 6> options{"host", "-H", "machinefile", "rankfile", "-rf", "seq"};
  return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
    return any_contains(component.launcher_options, option);
  });
}

void allow_root(Environment& environment, const LaunchContext& context) {
  if (!context.is_root) return;
  environment.emplace("OMPI_ALLOW_RUN_AS_ROOT", "1");
  environment.emplace("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}

void share_allocation(Environment& environment) {
  if (environment.contains("SLURM_JOB_ID")) environment.emplace("SLURM_OVERLAP", "1");
}

Environment launch_environment(const Component& component, const LaunchContext& context) {
  Environment environment = context.environment;
  for (const auto& [name, value] : component.environment) environment[name] = value;
  allow_root(environment, context);
  share_allocation(environment);
  return environment;
}

namespace {

/// Ranks that a program starts by MPI_Comm_spawn have the environment of Open MPI's daemon, and what mpirun
/// is told to hand on: by a list, or by options, but not by both.
void hand_on_to_spawned(LaunchPlan& plan, const Component& component, const Environment& own) {
  const std::string list_name = "OMPI_MCA_mca_base_env_list";
  const auto& options = component.launcher_options;
  if (any_contains(options, "mca_base_env_list")) return;
  if (std::ranges::find(options, "-x") != options.end()) {
    for (const auto& [name, value] : own)
      plan.arguments.insert(plan.arguments.end(), {"-x", name + '=' + value});
    return;
  }
  std::string& list = plan.environment[list_name];
  for (const auto& [name, value] : own) {
    const bool is_of_launcher = name != "LD_PRELOAD" && name != "SLUICE_COMPONENT";
    list += (list.empty() ? "" : ";") + (is_of_launcher ? name : name + '=' + value);
  }
}

}  // namespace

LaunchPlan plan_launch(const Workflow& workflow, const Component& component, const LaunchContext& context,
                       const std::filesystem::path& terminals) {
  LaunchPlan plan;
  plan.directory = component.directory;
  plan.by_launcher = is_launched(workflow, component);
  plan.environment = launch_environment(component, context);
  if (count_processes(workflow) > context.cores * context.nodes)
    plan.environment.emplace("OMPI_MCA_mpi_yield_when_idle", "1");
  Environment own{{"LD_PRELOAD", preload_list(context, plan.environment)},
                  {"SLUICE_SOCKET", context.socket_path},
                  {"SLUICE_COMPONENT", component.name},
                  {"SLUICE_RULES", rules_for(workflow, component.name)}};
  // A program with the address sanitizer ends at once where other libraries are loaded before the
  // sanitizer's.
  const auto asan = plan.environment.find("ASAN_OPTIONS");
  const std::string asan_options = asan == plan.environment.end() ? "" : asan->second + ':';
  own["ASAN_OPTIONS"] = asan_options + "verify_asan_link_order=0";
  if (std::string others = other_rules_for(workflow, component.name); !others.empty())
    own["SLUICE_OTHERS"] = std::move(others);
  if (const auto run = context.environment.find("SLUICE_RUN"); run != context.environment.end())
    own.insert(*run);
  if (const auto record = context.environment.find("SLUICE_RECORD_VALUES");
      record != context.environment.end())
    own["SLUICE_RECORD_VALUES"] = record->second + '/' + component.name;
  if (const auto reads = context.environment.find("SLUICE_RECORD_READS"); reads != context.environment.end())
    own.insert(*reads);
  if (!workflow.spill_directory.empty()) own["SLUICE_LOGS"] = workflow.spill_directory.string();
  if (workflow.copy_threads > 1) own["SLUICE_COPY_THREADS"] = std::to_string(workflow.copy_threads);
  own.insert(context.matcher_variables.begin(), context.matcher_variables.end());
  std::vector<std::string> behind;
  if (plan.by_launcher) {
    // `env` sets them for the ranks, so that no library is preloaded into the launcher
    plan.arguments = launcher_arguments(workflow, component, plan.environment, behind);
    if (launcher_of(workflow, component).kind == Launcher::Kind::mpirun)
      hand_on_to_spawned(plan, component, own);
    std::vector<std::string> rank_command{"env"};
    for (std::string& variable : as_strings(own)) rank_command.push_back(std::move(variable));
    if (!terminals.empty()) rank_command = redirected_to_terminal(terminals, std::move(rank_command));
    plan.arguments.insert(plan.arguments.end(), rank_command.begin(), rank_command.end());
    own.erase("LD_PRELOAD");
    own.erase("SLUICE_COMPONENT");  // the launcher is not a process of the component
  }
  for (const auto& [name, value] : own) plan.environment[name] = value;
  plan.arguments.insert(plan.arguments.end(), component.command.begin(), component.command.end());
  plan.arguments.insert(plan.arguments.end(), behind.begin(), behind.end());
  return plan;
}

ChildOptions child_of(const LaunchPlan& plan) {
  ChildOptions child;
  child.program = plan.arguments.front();
  child.arguments = plan.arguments;
  child.environment = plan.environment;
  child.directory = plan.directory;
  child.signal_at_our_death = plan.by_launcher ? SIGTERM : SIGKILL;  // a launcher ends its ranks itself
  return child;
}

}  // namespace sluice::coordinator
