#include "sluice/matcher/process_table.hpp"

#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/client_requests.hpp"
#include "sluice/matcher/expect.hpp"
#include "sluice/matcher/group.hpp"

namespace sluice::matcher {

std::string Process::name() const {
  return component->name + " (process " + std::to_string(process_id) + ")";
}

GroupMembership Process::membership_in(const Group& group) const noexcept {
  const GroupMembership* const found = memberships.find(group.serial);
  return found == nullptr ? GroupMembership{} : *found;
}

namespace {

/// A membership in a group that reads the step and is meant. A process may have many files open, and a step
/// may have many groups of readers.
template <class IsMeant>
GroupMembership reading(const Process& process, const Step& step, const IsMeant& is_meant) noexcept {
  if (process.memberships.size() < step.readers.size()) {
    for (const auto& entry : process.memberships) {
      const Group& group = *entry.value.group;
      if (group.step == &step && !group.writes() && is_meant(group)) return entry.value;
    }
    return {};
  }
  for (const Group* const group : step.readers) {
    if (!is_meant(*group)) continue;
    if (const GroupMembership found = process.membership_in(*group); found.group != nullptr) return found;
  }
  return {};
}

}  // namespace

GroupMembership Process::reads(const Step& step) const noexcept {
  return reading(*this, step, [](const Group&) { return true; });
}

GroupMembership Process::closes(const Step& step, const ReadEnd& close) const noexcept {
  return reading(*this, step, [&](const Group& group) {
    return close.group == 0 ? !group.is_offered : group.is_offered && group.member.group == close.group;
  });
}

GroupMembership Process::writes(const Step& step) const noexcept {
  return step.writers == nullptr ? GroupMembership{} : membership_in(*step.writers);
}

ProcessTable::ProcessTable(const std::vector<ComponentSize>& components) {
  for (const ComponentSize& size : components) {
    Component& added = component(size.name);
    added.processes = size.processes;
    added.restarts_left = size.restarts;
    added.opens_per_step = size.opens_per_step;
    added.after = size.after;
    if (size.ensemble.empty()) continue;
    auto& members = ensembles_[size.ensemble];
    added.ensemble = size.ensemble;
    added.at_most = size.at_most;
    added.place = members.size();
    members.push_back(&added);
  }
}

Process& ProcessTable::connect(const std::string& component_name, std::uint64_t token,
                               std::uint32_t process_id) {
  const auto [entry, is_new] =
      by_identity_.try_emplace({component_name, token, process_id}, ProcessId{next_id_});
  if (is_new) {
    Process& process = processes_[ProcessId{next_id_++}];
    process.id = entry->second;
    process.component = &component(component_name);
    process.token = token;
    process.process_id = process_id;
    note_start(process);
  }
  Process& process = processes_.at(entry->second);
  process.component->has_connected = true;
  change(process, [&] { ++process.connections; });
  return process;
}

/// More processes than were started: some start others, so their final number is unknown.
void ProcessTable::note_start(const Process& process) {
  Component& component = *process.component;
  component.live.insert(process.id);
  if (component.live.size() + component.ended.size() > component.processes) component.processes = 0;
}

Process& ProcessTable::at(ProcessId id) {
  if (Process* process = find(id)) return *process;
  throw Error(NC_EINVAL, "this process has ended");
}

Process* ProcessTable::find(ProcessId id) noexcept {
  return processes_.find(id);
}

void ProcessTable::expect(ProcessId id) const noexcept {
  expect_value(processes_.find(id));
}

void ProcessTable::erase(ProcessId id) {
  const Process* const found = processes_.find(id);
  if (found == nullptr) return;
  const Process& process = *found;
  Component& component = *process.component;
  if (process.is_blocked()) --component.blocked;
  component.live.erase(id);
  component.look = Look::none;
  if (component.processes > 0) component.ended.insert(id);
  by_identity_.erase({process.component->name, process.token, process.process_id});
  if (process.files > 0) std::erase_if(files_, [id](const auto& file) { return file.second == id; });
  processes_.erase(id);
}

void ProcessTable::begin_file(Process& process, const WrittenFile& file) {
  change(process, [&] {
    --process.connections;
    ++process.files;
  });
  files_.emplace(file, process.id);
}

void ProcessTable::end_file(Process& process, const WrittenFile& file) {
  change(process, [&] { --process.files; });
  files_.erase(file);
}

const Process* ProcessTable::writer_of(const WrittenFile& file) const noexcept {
  const auto found = files_.find(file);
  return found == files_.end() ? nullptr : processes_.find(found->second);
}

void ProcessTable::restart(Component& component) {
  if (component.restarts_left > 0) --component.restarts_left;
  ++component.restarts;
  component.is_ending = false;
  component.ended.clear();
  component.lost.clear();
}

Component& ProcessTable::component(const std::string& name) {
  const auto [entry, is_new] = components_.try_emplace(name);
  if (is_new) entry->second.name = name;
  return entry->second;
}

const Component* ProcessTable::find_component(const std::string& name) const noexcept {
  const auto found = components_.find(name);
  return found == components_.end() ? nullptr : &found->second;
}

/// Members that also wait for others start in no known order.
bool ProcessTable::has_started(const Component& component) const {
  if (component.has_connected || component.has_exited) return true;
  const auto has_ended = [&](const std::string& name) {
    const Component* const found = find_component(name);
    return found != nullptr && found->has_exited;
  };
  if (!component.after.empty()) return std::ranges::all_of(component.after, has_ended);
  return component.at_most == 0 || has_turn(component, ended_members(component.ensemble));
}

std::vector<const Component*> ProcessTable::running_members(const Component& component) const {
  const auto found = ensembles_.find(component.ensemble);
  if (found == ensembles_.end()) return {};
  std::vector<const Component*> running;
  const std::size_t ended = ended_members(component.ensemble);
  for (const Component* const member : found->second)
    if (!member->has_exited && has_turn(*member, ended)) running.push_back(member);
  return running;
}

std::size_t ProcessTable::ended_members(const std::string& ensemble) const {
  const auto found = ensembles_.find(ensemble);
  if (found == ensembles_.end()) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(found->second, [](const Component* member) { return member->has_exited; }));
}

std::vector<ProcessId> ProcessTable::ids() const {
  std::vector<ProcessId> ids;
  ids.reserve(processes_.size());
  for (const auto& [id, process] : processes_) ids.push_back(id);
  return ids;
}

std::vector<ProcessId> ProcessTable::processes_of(const Component& component) const {
  std::vector<ProcessId> ids;
  for (const auto& [id, process] : processes_) {
    if (process.component == &component) ids.push_back(id);
  }
  return ids;
}

}  // namespace sluice::matcher
