#include "sluice/matcher/registry.hpp"

#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

Registry::Registry(RegistryOptions options, SegmentMemory& memory, RegistryAnswers& answers)
    : rules_(std::move(options.rules)),
      now_ms_(std::move(options.now_ms)),
      answers_(answers),
      retain_bytes_(options.retain_bytes),
      spill_directory_(std::move(options.spill_directory)),
      processes_(options.components),
      directory_(std::move(options.directory)),
      consumed_(options.nodes, rules_.size()) {
  for (std::uint32_t node = 0; node < options.nodes; ++node)
    pools_.push_back(std::make_unique<SegmentPool>(memory, options.memory_bytes, node, options.warm));
  if (!directory_.empty() && !directory_.ends_with('/')) directory_ += '/';
  is_continued_rule_.resize(rules_.size());
  rule_uses_.resize(rules_.size());
  for (const FileRule& rule : rules_) most_processes_.emplace_back(rule.readers.size(), 0);
}

Registry::~Registry() = default;

const FileRule& Registry::rule_of(const DatasetKey& key) const {
  if (key.rule < rules_.size()) return rules_[key.rule];
  throw Error(NC_EINVAL, "the workflow has no rule " + std::to_string(key.rule));
}

// Processes and components

ProcessId Registry::connect(const std::string& component, std::uint64_t token, std::uint32_t process_id,
                            MatcherPlace place) {
  if (place.node >= pools_.size()) throw Error(NC_EINVAL, "there is no node " + std::to_string(place.node));
  Process& process = processes_.connect(component, token, process_id);
  process.place = place;
  return process.id;
}

void Registry::disconnect(ProcessId process) {
  Process* const found = processes_.find(process);
  if (found == nullptr) return;
  ProcessTable::change(*found, [&] { --found->connections; });
  if (found->connections > 0) return;
  end_process(process, found->name() + " ended before it had closed it");
  advance();
}

void Registry::component_exited(const std::string& name, const std::string& reason) {
  Component& component = processes_.component(name);
  component.has_exited = true;
  component.reason = reason;
  for (const ProcessId id : processes_.processes_of(component)) end_process(id, name + " " + reason);
  end_component_groups(component);
  std::vector<Step*> published;
  for (const auto& [id, step] : steps_) published.push_back(step.get());
  for (Step* step : published) {
    if (steps_.contains(step->id)) review(*step);
  }
  advance();
}

void Registry::end_process(ProcessId id, const std::string& reason) {
  Process& process = processes_.at(id);
  bool was_writing = false;
  drop_waits_of(process);
  while (!process.memberships.empty()) {
    const auto [group_pointer, rank] = process.memberships.back();
    Group& group = *group_pointer;
    group.members.at(rank).ticket.reset();
    if (group.writes() && group.is_waiting()) {
      refuse(group, NC_EIO, reason);  // finishes all its members, this one too
      answer_members(group);
      continue;
    }
    if (group.writes() && group.step != nullptr) {
      was_writing = true;
      if (!group.step->control.empty()) mark_gone(group.step->control, rank);
      if (group.step->state == StepState::in_progress) end_by_death(*group.step, reason);
    }
    finish_member(group, rank);
  }
  pool(process.place.node).forget(id, was_writing);
  processes_.erase(id);
}

void Registry::mark_gone(const SegmentLease& control, std::uint32_t rank) {
  pool(node_of(control.id())).memory().mark_gone(control.id(), rank);
}

void Registry::end_component_groups(const Component& component) {
  std::vector<Group*> ended;
  for (const auto& [id, group] : groups_) {
    if (group->component == &component) ended.push_back(group.get());
  }
  for (Group* group : ended) {  // members that never arrived, and never will
    if (group->writes() && group->step != nullptr && group->step->state == StepState::in_progress) {
      end_by_death(*group->step, component.name + " " + component.reason);
    }
    group->finished = group->size;
    finish_group(*group);
  }
}

// Groups and steps

Registry::Membership Registry::membership(const Process& process, StepId step, bool writing) const {
  for (const auto& [group, rank] : process.memberships) {
    if (group->step != nullptr && group->step->id == step && group->writes() == writing) return {group, rank};
  }
  return {};
}

Registry::Membership Registry::writing_membership(Process& process, StepId step) const {
  const Membership found = membership(process, step, true);
  if (found.group != nullptr) return found;
  throw Error(NC_EINVAL, process.name() + " is not writing step " + std::to_string(step));
}

void Registry::finish_member(Group& group, std::uint32_t rank) {
  Group::MemberState& member = group.members.at(rank);
  member.is_finished = true;
  if (Process* process = processes_.find(member.process)) {
    std::erase(process->memberships, GroupMembership{&group, rank});
  }
  if (++group.finished == group.size) finish_group(group);
}

void Registry::finish_group(Group& group) {
  Step* const step = group.step;
  const auto ended = groups_.extract(GroupId{group.component, group.id});
  waiting_groups_.remove(&group);
  if (step == nullptr) return;
  if (!group.writes()) {
    std::erase(step->readers, &group);
    if (step->readers.empty()) drop_landing_waits_on(*step);
    note_read(*step, group);
  } else {
    step->writers = nullptr;
    if (step->state == StepState::in_progress) complete(*step);
    step->control.release();
  }
  review(*step);
}

void Registry::complete(Step& step) {
  Dataset& dataset = datasets_[step.key];
  step.state = StepState::published;
  ++step.revision;
  if (rule_of(step.key).replays && !step.is_cut && !step.is_in_files) set_pattern(step);
  note_early_readers(step);
  std::erase(dataset.in_progress, &step);
  if (rule_of(step.key).is_drained()) want_drain(step);  // before the one goes that need not be drained now
  supersede(dataset);
  dataset.newest = &step;
  dataset.is_recycled = false;
  ++dataset.steps_published;
  note_published(step.key.rule);
  note_name(step.key);
  answers_.published(step);
  start_next_drain();
}

void Registry::end_unfinished(Step& step, const std::string& reason) {
  const bool is_visible = step.publish_at == PublishAt::write ? !step.header.empty() : step.publications > 0;
  if (is_visible) {
    cut_step(step, reason);
  } else {
    discard_step(step, reason);
  }
}

void Registry::discard_step(Step& step, const std::string& reason) {
  Dataset& dataset = datasets_[step.key];
  step.state = StepState::discarded;
  step.reason = "the step of " + quoted(step.key) + " was discarded: " + reason;
  std::erase(dataset.in_progress, &step);
  ++dataset.steps_discarded;
  if (step.is_in_files) supersede(dataset);  // the earlier step was the same file
  drop_memory_waits_on(step, step.reason);
  answers_.event(step.reason);
}

void Registry::supersede(Dataset& dataset) {
  Step* const old = std::exchange(dataset.newest, nullptr);
  if (old == nullptr) return;
  old->is_superseded = true;
  review(*old);
}

/// Frees a step that nobody needs, and keeps the order of those whose memory may be taken.
void Registry::review(Step& step) {
  const bool is_open = step.writers != nullptr || !step.readers.empty() || step.is_draining();
  if (!is_open &&
      (step.state == StepState::discarded || (step.state == StepState::published && step.is_superseded))) {
    erase(step);
    return;
  }
  const bool may_go = !is_open && step.state == StepState::published && is_consumed(step);
  if (may_go && !step.consumed_place) {
    consumed_.add(step, is_continued_rule_[step.key.rule] || is_partly_read(step));
    unconsumed_.erase(step.id);
    free_disk(step);
  } else if (!may_go) {
    keep(step);
  }
}

/// Where one file was opened for writing again, as each step does that adds a record, others will be.
void Registry::note_continued(std::uint32_t rule) {
  if (is_continued_rule_[rule]) return;
  is_continued_rule_[rule] = true;
  consumed_.expect_again(rule);
}

/// Takes a step out of those whose memory may be taken.
void Registry::keep(Step& step) {
  if (!step.consumed_place) return;
  consumed_.remove(step);
  unconsumed_.emplace(step.id, &step);
}

void Registry::note_read(Step& step, const Group& group) {
  const auto& readers = rule_of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] != group.component->name) continue;
    if (step.state == StepState::in_progress && step.publish_at != PublishAt::write) {
      step.read_by[i].seen = std::max(step.read_by[i].seen, group.seen_publication);
    } else {
      step.read_by[i].has_closed = true;
    }
    std::vector<ProcessId> processes;
    for (const auto& [rank, member] : group.members) processes.push_back(member.process);
    step.read_by[i].processes.insert(processes.begin(), processes.end());
    std::size_t& most = most_processes_[step.key.rule][i];
    most = std::max(most, step.read_by[i].processes.size());
  }
}

bool Registry::is_partly_read(const Step& step) const {
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    if (step.read_by[i].processes.size() < most_processes_[step.key.rule][i]) return true;
  }
  return false;
}

bool Registry::is_consumed(const Step& step) const {
  const auto& readers = rule_of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const Component* const reader = processes_.find_component(readers[i]);
    if (!step.read_by[i].has_closed && (reader == nullptr || !reader->has_exited)) return false;
  }
  return true;
}

void Registry::erase(Step& step) {
  keep(step);
  Dataset& dataset = datasets_[step.key];
  if (dataset.newest == &step) {
    dataset.newest = nullptr;
    dataset.is_recycled = true;
  }
  answers_.erased(step.id);
  unconsumed_.erase(step.id);
  steps_.erase(step.id);
}

// Requests on steps that are open

void Registry::set_header(const Ticket& ticket, ProcessId process, HeaderRequest request) {
  Step& step = *writing_membership(processes_.at(process), request.step).group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  step.header = std::move(request.header);
  step.structure = request.structure;
  step.header_revision = ++step.revision;
  answers_.done(ticket);
  if (step.publish_at == PublishAt::write) advance();
}

void Registry::publish(ProcessId process, PublishRequest request) {
  const auto [group, rank] = writing_membership(processes_.at(process), request.step);
  Step& step = *group->step;
  WriteLog& log = *step.logs[step.first_own_log + rank];
  for (LogRange& range : request.ranges) {
    if (!log.holds(range)) throw Error(NC_EINVAL, "it places log data where it has no memory");
    range.writer = static_cast<std::uint32_t>(step.first_own_log + rank);
  }
  if (step.state == StepState::in_progress) {
    log.ranges = std::move(request.ranges);
    log.trim();
    log.pattern = request.pattern;
    step.record_count = std::max({step.record_count, request.record_count, request.pattern.records_end});
  }
  datasets_[step.key].counters += request.counters;
  if (!log.burst_log.empty()) ++logs_ended_;
  finish_member(*group, rank);
  advance();
}

void Registry::discard(ProcessId process, StepId id, FileState file) {
  Process& caller = processes_.at(process);
  const auto [group, rank] = writing_membership(caller, id);
  Step& step = *group->step;
  if (step.state == StepState::in_progress) {
    if (step.is_in_files && file == FileState::untouched) {
      withdraw(step);
    } else {
      end_unfinished(step, caller.name() + " aborted it");
    }
  }
  finish_member(*group, rank);
  advance();
}

void Registry::close_read(ProcessId process, const CloseRequest& request) {
  Process& caller = processes_.at(process);
  const auto [group, rank] = membership(caller, request.step, false);
  if (group == nullptr) {
    throw Error(NC_EINVAL, caller.name() + " does not have step " + std::to_string(request.step) + " open");
  }
  datasets_[group->key].counters += request.counters;
  finish_member(*group, rank);
  advance();
}

const Step& Registry::step(StepId id) const {
  const auto found = steps_.find(id);
  if (found == steps_.end()) throw Error(NC_EBADID, "there is no step " + std::to_string(id));
  if (found->second->state == StepState::discarded) throw Error(NC_EIO, found->second->reason);
  return *found->second;
}

const Step& Registry::step_for_get(ProcessId process, StepId id) {
  Process& caller = processes_.at(process);
  for (const bool writing : {false, true}) {
    const Membership found = membership(caller, id, writing);
    if (found.group == nullptr) continue;
    const Step& step = *found.group->step;
    if (step.state == StepState::discarded || (writing && step.is_cut)) throw Error(NC_EIO, step.reason);
    if (!writing) found.group->seen_publication = step.publications;
    return step;
  }
  throw Error(NC_EBADID, caller.name() + " does not have step " + std::to_string(id) + " open");
}

}  // namespace sluice::matcher
