#include "launch.hpp"

#include <sched.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "rank_terminals.hpp"
#include "sluice/runtime/rules.hpp"
#include "workflow_messages.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::Workflow;

/// The value of LD_PRELOAD: Sluice's libraries, then the user's libraries.
std::string preload_list(const LaunchContext& context, const Environment& environment) {
  const auto existing = environment.find("LD_PRELOAD");
  const bool is_set = existing != environment.end() && !existing->second.empty();
  std::string list = context.preload_library.string();
  if (!context.files_library.empty()) list += ':' + context.files_library.string();
  return list + (is_set ? ':' + existing->second : "");
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
                       rule.has_hyperslabs, rule.may_offer_steps(), rule.may_offer_reads(), !rule.replays});
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
  if (const auto door = context.environment.find("SLUICE_DOOR"); door != context.environment.end())
    own.insert(*door);
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
    const LauncherTraits& launcher = traits_of(launcher_of(workflow, component));
    LauncherWords words = launcher.words(workflow, component, plan.environment);
    plan.arguments = std::move(words.before);
    behind = std::move(words.behind);
    if (launcher.hand_on != nullptr) launcher.hand_on(plan.arguments, plan.environment, component, own);
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
