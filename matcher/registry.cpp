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
      consumed_(options.nodes, rules_.size()),
      doubtful_(options.nodes, rules_.size()) {
  for (std::uint32_t node = 0; node < options.nodes; ++node)
    pools_.push_back(std::make_unique<SegmentPool>(memory, options.memory_bytes, node, options.warm));
  if (!directory_.empty() && !directory_.ends_with('/')) directory_ += '/';
  is_continued_rule_.resize(rules_.size());
  publication_waits_.resize(rules_.size());
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
                            MatcherPlace place, StartedBy started_by) {
  if (place.node >= pools_.size()) throw Error(NC_EINVAL, "there is no node " + std::to_string(place.node));
  Process& process = processes_.connect(component, token, process_id);
  process.place = place;
  if (started_by == StartedBy::component) process.component->processes = 0;
  const bool is_new = process.connections == 1;
  if (is_new && process.component->processes == 0) review_steps_read_by(*process.component);
  return process.id;
}

void Registry::disconnect(ProcessId process) {
  Process* const found = processes_.find(process);
  if (found == nullptr) return;
  ProcessTable::change(*found, [&] { --found->connections; });
  if (found->connections > 0) return;
  const Component& component = *found->component;
  end_process(process, found->name() + " ended before it had closed it");
  review_steps_read_by(component);
  advance();
}

void Registry::component_exited(const std::string& name, const std::string& reason) {
  Component& component = processes_.component(name);
  component.has_exited = true;
  component.reason = reason;
  for (const ProcessId id : processes_.processes_of(component)) end_process(id, name + " " + reason);
  end_component_groups(component);
  review_steps_read_by(component);
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
  if (group.writes() && group.step != nullptr &&
      group.step->logs[group.step->first_own_log + rank]->synced.has_value())
    --group.synced;
  if (Process* process = processes_.find(member.process)) {
    std::erase(process->memberships, GroupMembership{&group, rank});
  }
  if (++group.finished == group.size) finish_group(group);
}

void Registry::finish_group(Group& group) {
  Step* const step = group.step;
  const auto ended = groups_.extract(GroupId{group.component, group.id});
  stop_waiting(group);
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
  set_apart(step);
  if (rule_of(step.key).replays && !step.is_cut && !step.is_in_files) set_pattern(step);
  note_early_readers(step);
  if (!step.is_cut) close_logs(step);
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

/// What comes behind the ends belongs to steps that continue this one.
void Registry::close_logs(Step& step) {
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) {
    step.logs[i]->published = step.logs[i]->end;
    step.logs[i]->is_complete = true;
  }
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

void Registry::erase(Step& step) {
  const Claim claim = step.claim;
  keep(step);
  Dataset& dataset = datasets_[step.key];
  if (dataset.newest == &step) {
    dataset.newest = nullptr;
    dataset.is_recycled = true;
    dataset.claim = claim;
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
  if (step.publish_at == PublishAt::write) advance_on(step.key);
}

void Registry::publish(ProcessId process, PublishRequest request) {
  const auto [group, rank] = writing_membership(processes_.at(process), request.step);
  Step& step = *group->step;
  WriteLog& log = *step.logs[step.first_own_log + rank];
  for (std::size_t i = 0; i < request.ranges.size(); ++i) {
    LogRange& range = request.ranges[i];
    const bool is_known = i + 1 < log.ranges.size() && range.segment == log.ranges[i].segment &&
                          range.segment_offset == log.ranges[i].segment_offset &&
                          range.length_bytes == log.ranges[i].length_bytes;
    if (!is_known && !log.holds(range)) throw Error(NC_EINVAL, "it places log data where it has no memory");
    range.writer = static_cast<std::uint32_t>(step.first_own_log + rank);
  }
  if (step.state == StepState::in_progress) {
    log.ranges = std::move(request.ranges);
    log.end = request.position;
    log.trim(request.position);
    log.pattern = request.pattern;
    if (log.begin.chunks == 0) log.extent = log.pattern.extent;
    if (log.begin.chunks != 0) log.extent.add(log.pattern.extent);
    step.record_count = std::max({step.record_count, request.record_count, request.pattern.records_end});
  }
  datasets_[step.key].counters += request.counters;
  if (!log.burst_log.empty()) ++logs_ended_;
  leave(*group, rank);
}

/// A member has closed: what it did for the dataset as a whole is done by the last one.
void Registry::leave(Group& group, std::uint32_t rank) {
  const DatasetKey key = group.key;
  const bool is_last = group.finished + 1 == group.size;
  finish_member(group, rank);
  if (is_last) {
    advance_on(key);
  } else {
    advance_memory();
  }
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
  const DatasetKey key = group->key;
  finish_member(*group, rank);
  advance_on(key);
}

void Registry::close_read(ProcessId process, const CloseRequest& request) {
  Process& caller = processes_.at(process);
  const auto [group, rank] = membership(caller, request.step, false);
  if (group == nullptr) {
    throw Error(NC_EINVAL, caller.name() + " does not have step " + std::to_string(request.step) + " open");
  }
  datasets_[group->key].counters += request.counters;
  leave(*group, rank);
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
