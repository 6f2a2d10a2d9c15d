#include "run_views.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "registry_parts.hpp"
#include "wait_texts.hpp"

namespace sluice::matcher {

namespace {

/// Steps that are listed; the others are counted.
constexpr std::size_t most_files = 100;

/// The steps that live processes have open, in the order of their creation. Members of one group follow one
/// another, so most of the insertions find their step at once.
std::set<StepId> open_steps(const ProcessTable& processes) {
  std::set<StepId> steps;
  for (const auto& [id, process] : processes.processes()) {
    for (const auto& entry : process.memberships) {
      const Step* const step = entry.value.group->step;
      if (step != nullptr && !process.component->is_attached()) steps.insert(step->id);
    }
  }
  return steps;
}

FileUser user_of(const Group& group, std::uint64_t now_ms) {
  FileUser user{group.component->name, 0, group.writes(), 0};
  for (const auto& [rank, member] : group.members) {
    if (member.is_finished || member.ticket) continue;
    ++user.processes;
    user.since_ms = std::max(user.since_ms, now_ms - std::min(now_ms, member.opened_ms));
  }
  return user;
}

std::uint64_t bytes_of(const Step& step) {
  std::uint64_t bytes = 0;
  for (const Medium medium : {Medium::memory, Medium::disk})
    for (const auto& [node, node_bytes] : step.bytes_in(medium)) bytes += node_bytes;
  return bytes;
}

void add_components(const RegistryParts& parts, RunView& view) {
  for (const auto& [name, component] : parts.processes.components()) {
    if (component.is_attached()) continue;
    view.components.push_back({name, component.processes, static_cast<std::uint32_t>(component.live.size()),
                               component.blocked, component.has_connected, component.has_exited,
                               component.reason});
  }
}

void add_rules(const RegistryParts& parts, RunView& view) {
  std::vector<RuleStatus> uses = parts.uses.rules();
  parts.sequences.report(uses);
  for (std::uint32_t number = 0; number < parts.rules.size(); ++number) {
    const FileRule& rule = parts.rules.at(number);
    view.rules.push_back(
        {rule.pattern, rule.writer, rule.readers, parts.datasets.totals_of(number), std::move(uses[number])});
  }
}

FileView view_of(const RegistryParts& parts, const Step& step) {
  FileView file{step.key.rule, step.name, step.state == StepState::published, bytes_of(step), {}, {}, {}};
  const std::uint64_t now = parts.history.now_ms();
  if (step.writers != nullptr) file.users.push_back(user_of(*step.writers, now));
  for (const Group* group : step.readers) {
    if (!group->component->is_attached()) file.users.push_back(user_of(*group, now));
  }
  std::erase_if(file.users, [](const FileUser& user) { return user.processes == 0; });
  const auto& readers = parts.rules.of(step.key).readers;
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    const bool is_needed = parts.readers.claim_of_reader(step, i) == Claim::needed;
    if (step.read_by[i].has_closed) file.read_by.push_back(readers[i]);
    if (is_needed) file.unread_by.push_back(readers[i]);
  }
  return file;
}

/// First the steps that are open, then the oldest of those that wait for readers: they hold memory.
void add_files(const RegistryParts& parts, RunView& view) {
  const std::set<StepId> open = open_steps(parts.processes);
  for (const StepId id : open) {
    if (view.files.size() == most_files) break;
    view.files.push_back(view_of(parts, parts.datasets.step(id)));
  }
  const std::size_t listed_open = view.files.size();
  const auto& unconsumed = parts.retention.unconsumed();
  for (const auto& [id, step] : unconsumed) {
    if (view.files.size() == most_files) break;
    if (!open.contains(id)) view.files.push_back(view_of(parts, *step));
  }
  const std::size_t unread = unconsumed.size() - std::min(unconsumed.size(), open.size());
  const std::size_t listed_unread = view.files.size() - listed_open;
  view.more_files = open.size() - listed_open + (unread - std::min(unread, listed_unread));
}

/// A long queue of drains is only counted.
void add_drains(const RegistryParts& parts, RunView& view) {
  if (auto active = parts.drains.active()) view.drains.push_back(std::move(*active));
  view.waiting_drains = parts.drains.waiting();
}

}  // namespace

RunView run_view(const RegistryParts& parts, const WatchRequest& request) {
  RunView view;
  parts.history.report(request, view);
  add_components(parts, view);
  add_rules(parts, view);
  view.uses = parts.datasets.uses();
  if (!request.has_activities && !request.is_for_progress) add_files(parts, view);
  view.waits = report_waits(parts, parts.history.now_ms());
  view.gatherings = parts.gatherings.report();
  view.copies = parts.copies.report(parts.processes);
  for (std::uint32_t node = 0; node < parts.pools.nodes(); ++node) {
    const SegmentPool& pool = parts.pools.at(node);
    view.nodes.push_back(
        {pool.used_bytes(), pool.limit_bytes(), pool.used_peak_bytes(), pool.spilled_bytes()});
  }
  add_drains(parts, view);
  return view;
}

}  // namespace sluice::matcher
