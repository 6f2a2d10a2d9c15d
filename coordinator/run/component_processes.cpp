#include "component_processes.hpp"

#include <algorithm>
#include <csignal>
#include <map>

#include "descriptor_limit.hpp"
#include "format.hpp"
#include "rank_terminals.hpp"
#include "readiness.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

/// Whether ranks find their terminals: those of Open MPI and MPICH do so by a variable of their launcher.
bool has_rank_terminals(const workflows::Workflow& workflow, const workflows::Component& component) {
  return is_launched(workflow, component) && traits_of(launcher_of(workflow, component)).mpi;
}

}  // namespace

ComponentProcesses::ComponentProcesses(RunSetting& setting, Listener& listener)
    : setting_(setting), listener_(listener), can_have_terminals_(can_have_terminals(setting.workflow)) {}

void ComponentProcesses::start_all(const std::set<std::string>& done) {
  members_.resize(setting_.workflow.components.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].component = &setting_.workflow.components[i];
    if (done.contains(members_[i].component->name)) {
      members_[i].had_ended = true;
    } else {
      members_[i].is_held_back = !starts_later(*members_[i].component);
    }
  }
  start_held_back();
}

void ComponentProcesses::start_held_back() {
  std::map<std::string, int> running;  // by ensemble
  for (const Member& member : members_)
    if (!member.is_held_back && !member.has_ended()) ++running[member.component->ensemble];
  for (Member& member : members_) {
    const workflows::Component& component = *member.component;
    if (!member.is_held_back) continue;
    const bool is_member = !component.ensemble.empty();
    if (is_member && component.at_most > 0 && running[component.ensemble] >= component.at_most) continue;
    ++running[component.ensemble];
    member.is_held_back = false;
    start(member);
  }
}

bool ComponentProcesses::Member::may_restart() const {
  return process && process->end() && process->end()->failed() && starts <= component->failure.restarts;
}

ComponentProcesses::Member& ComponentProcesses::member_named(const std::string& name) {
  return *std::ranges::find_if(members_,
                               [&](const Member& member) { return member.component->name == name; });
}

void ComponentProcesses::restart(const std::string& name) {
  Member& member = member_named(name);
  const auto start_again = [this, &member] {
    member.restart.reset();
    member.earlier += member.process->duration();
    member.process.reset();
    start(member);
  };
  member.restart =
      std::make_unique<RestartWait>(setting_.loop, member.component->failure.restart_delay, start_again);
}

void ComponentProcesses::may_start(const std::string& name) {
  if (Member& member = member_named(name); member.restart) member.restart->matcher_agrees();
}

std::vector<std::string> ComponentProcesses::cancel_starts() {
  std::vector<std::string> names;
  for (Member& member : members_) {
    if (!member.restart && !member.is_held_back) continue;
    member.restart.reset();
    member.is_held_back = false;
    names.push_back(member.component->name);
  }
  return names;
}

void ComponentProcesses::kill_rest(const Member& member) const {
  for (const pid_t process : rest_of(member)) ::kill(process, SIGKILL);
}

std::vector<pid_t> ComponentProcesses::rest_of(const Member& member) const {
  auto rest = runtime::processes_with_environment("SLUICE_COMPONENT=" + member.component->name);
  if (rest.empty()) return rest;
  const auto of_run = runtime::processes_with_environment(runtime::run_mark(setting_.directory.socket()));
  std::erase_if(rest, [&](pid_t process) { return std::ranges::find(of_run, process) == of_run.end(); });
  return rest;
}

/// Processes in the background, and daemons, may still use files of the component.
bool ComponentProcesses::goes_on(const Member& member, bool is_last_time) const {
  const std::string& name = member.component->name;
  if (!is_coupled(setting_.workflow, name)) return false;
  const std::vector<pid_t> rest = rest_of(member);
  if (rest.empty()) return false;
  if (is_last_time) setting_.notice(text_of_rest(name, rest));
  return true;
}

void ComponentProcesses::start_due(const workflows::Component& component) {
  start(*std::ranges::find(members_, &component, &Member::component));
}

void ComponentProcesses::start(Member& member) {
  ++member.starts;
  const workflows::Workflow& workflow = setting_.workflow;
  const std::string& name = member.component->name;
  std::optional<RankTerminals> terminals;
  if (can_have_terminals_ && has_rank_terminals(workflow, *member.component) &&
      !setting_.nodes.components_elsewhere.contains(name)) {
    terminals = open_rank_terminals(setting_.directory.path(), name, member.component->ranks);
  }
  const LaunchPlan plan =
      plan_launch(workflow, *member.component, setting_.launch, terminals ? terminals->prefix : "");
  ChildOptions child = child_of(plan);
  part_jobs(child.environment, setting_.directory, name);
  setting_.log(name, "starts in " + child.directory.string() + ": " + as_shell_command(child.arguments));
  if (!is_coupled(workflow, name))
    setting_.log(name, "no file rule names it: all of its files are ordinary ones");
  setting_.console.detail(name + ": " + as_shell_command(child.arguments));
  try {
    member.process = std::make_unique<SupervisedProcess>(
        setting_.loop, setting_.console, name, std::move(child),
        SupervisedProcess::Launching{plan.by_launcher, setting_.end_timeout},
        SupervisedProcess::Callbacks{
            [this, &member] { listener_.component_exited(member); },
            [this, &member] { listener_.component_ended(member); },
            [this, &member](bool is_last_time) { return goes_on(member, is_last_time); }},
        std::move(terminals));
  } catch (const IoError& error) {
    member.problem = error.what();
    listener_.component_not_started(member);
  }
}

void ComponentProcesses::reap() {
  for (Member& member : members_) {
    if (member.process) member.process->reap();
  }
}

void ComponentProcesses::signal_all(int signal) const {
  for (const Member& member : members_) member.signal(signal);
}

void ComponentProcesses::signal(const std::set<std::string>& components, int signal) const {
  for (const Member& member : members_)
    if (components.contains(member.component->name)) member.signal(signal);
}

void ComponentProcesses::Member::signal(int signal) const {
  if (!has_process()) return;
  process->signal_group(signal);
  process->signal_group(SIGCONT);
}

bool ComponentProcesses::kill_all(std::set<pid_t> launchers) const {
  for (const Member& member : members_) {
    if (!member.has_process()) continue;
    const bool is_launcher = member.process->is_launcher();
    member.process->signal_group(is_launcher ? SIGTERM : SIGKILL);
    if (is_launcher) launchers.insert(member.process->id());
  }
  for (const pid_t process :
       runtime::processes_with_environment(runtime::run_mark(setting_.directory.socket()))) {
    if (!launchers.contains(process)) ::kill(process, SIGKILL);
  }
  return !launchers.empty();
}

void ComponentProcesses::kill_launchers() const {
  for (const Member& member : members_) {
    if (member.has_process()) member.process->signal_group(SIGKILL);
  }
}

bool ComponentProcesses::have_all_ended() const {
  return std::ranges::all_of(members_, [](const Member& member) { return member.has_ended(); });
}

std::size_t ComponentProcesses::ended_members_of(const std::string& ensemble) const {
  const auto is_ended_member = [&](const Member& member) {
    return member.component->ensemble == ensemble && member.starts > 0 && member.has_ended();
  };
  return static_cast<std::size_t>(std::ranges::count_if(members_, is_ended_member));
}

bool ComponentProcesses::is_running(const std::string& name) const {
  return std::ranges::any_of(
      members_, [&](const Member& member) { return member.component->name == name && member.has_process(); });
}

std::vector<ComponentStage> ComponentProcesses::stages() const {
  std::vector<ComponentStage> stages;
  for (const Member& member : members_) {
    ComponentStage& stage = stages.emplace_back();
    if (member.starts == 0) continue;
    stage.kind = member.restart         ? ComponentStage::Kind::restarts
                 : member.has_process() ? ComponentStage::Kind::running
                                        : ComponentStage::Kind::ended;
    const std::optional<ProcessEnd> end = member.process ? member.process->end() : std::nullopt;
    stage.has_failed = !end || end->failed();
    stage.how = end ? end->describe() : member.problem;
  }
  return stages;
}

std::vector<ComponentOutcome> ComponentProcesses::outcomes() const {
  std::vector<ComponentOutcome> outcomes;
  for (const workflows::Component& component : setting_.workflow.components) {
    ComponentOutcome& outcome = outcomes.emplace_back();
    outcome.name = component.name;
    outcome.ranks = component.ranks;
    outcome.ensemble = component.ensemble;
    const auto member = std::ranges::find(members_, &component, &Member::component);
    if (member == members_.end()) continue;
    outcome.problem = member->problem;
    outcome.had_ended = member->had_ended;
    if (outcome.had_ended) outcome.end = ProcessEnd{};
    outcome.starts = member->starts;
    outcome.duration = member->earlier;
    if (!member->process) continue;
    outcome.end = member->process->end();
    outcome.duration += member->process->duration();
  }
  return outcomes;
}

}  // namespace sluice::coordinator
