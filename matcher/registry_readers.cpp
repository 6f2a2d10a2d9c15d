// Who has read what, and so what may go: docs/architecture.md, "Memory".
#include <algorithm>
#include <utility>

#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// Frees a step that nobody needs, and keeps the order of those whose memory may be taken.
void Registry::review(Step& step) {
  const bool is_open = step.writers != nullptr || !step.readers.empty() || step.is_draining();
  if (!is_open &&
      (step.state == StepState::discarded || (step.state == StepState::published && step.is_superseded))) {
    erase(step);
    return;
  }
  const Claim claim = is_open || step.state != StepState::published ? Claim::needed : claim_on(step);
  if (claim == step.claim) return;
  keep(step);
  if (claim == Claim::needed) return;
  step.claim = claim;
  (claim == Claim::none ? consumed_ : doubtful_).add(step, is_on_disk(step) && is_partly_read(step));
  unconsumed_.erase(step.id);
  if (claim == Claim::none) free_disk(step);
}

/// Takes a step out of those whose memory may be taken.
void Registry::keep(Step& step) {
  if (step.claim == Claim::needed) return;
  (step.claim == Claim::none ? consumed_ : doubtful_).remove(step);
  step.claim = Claim::needed;
  unconsumed_.emplace(step.id, &step);
}

/// Where one file was opened for writing again, as each step does that adds a record, others will be.
void Registry::note_continued(std::uint32_t rule) {
  if (is_continued_rule_[rule]) return;
  is_continued_rule_[rule] = true;
  for (Step* const step : consumed_.steps_of(rule)) review(*step);
}

/// All processes of a component that was a member of the group have closed the step.
void Registry::note_read(Step& step, const Group& group) {
  const auto& readers = rule_of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] != group.component->name) continue;
    ReaderRecord& record = step.read_by[i];
    const bool is_early = step.state == StepState::in_progress && step.publish_at != PublishAt::write;
    for (const auto& [rank, member] : group.members) {
      if (is_early) {
        std::uint64_t& seen = record.early[member.process];
        seen = std::max(seen, group.seen_publication);
      } else {
        record.processes.insert(member.process);
      }
    }
    if (is_early) continue;
    record.has_closed = true;
    std::size_t& most = most_processes_[step.key.rule][i];
    most = std::max(most, record.processes.size());
  }
}

bool Registry::is_partly_read(const Step& step) const {
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    if (step.read_by[i].processes.size() < most_processes_[step.key.rule][i]) return true;
  }
  return false;
}

/// The strongest claim that any of the readers has. What a file was opened for writing again may be once
/// more.
Claim Registry::claim_on(const Step& step) const {
  Claim claim = is_continued_rule_[step.key.rule] ? Claim::doubtful : Claim::none;
  for (std::size_t i = 0; i < step.read_by.size(); ++i) claim = std::max(claim, claim_of_reader(step, i));
  return claim;
}

/// A process that has closed the step, or has ended, asks for it no more. A component of which it is not
/// known how many processes it has may always start another one, until it exits.
Claim Registry::claim_of_reader(const Step& step, std::size_t reader) const {
  const Component* const component = processes_.find_component(rule_of(step.key).readers[reader]);
  if (component == nullptr) return Claim::needed;
  if (component->has_exited) return Claim::none;
  const ReaderRecord& record = step.read_by[reader];
  if (component->processes > 0 && have_all_closed(record, *component)) return Claim::none;
  if (!record.has_closed) return Claim::needed;
  if (is_on_disk(step)) return Claim::none;  // who asks for it again reads the file
  const bool is_known_to_be_missing =
      component->processes > 0 || !std::ranges::includes(record.processes, component->live);
  return is_known_to_be_missing ? Claim::needed : Claim::doubtful;
}

bool Registry::have_all_closed(const ReaderRecord& record, const Component& component) const {
  const std::size_t most = record.processes.size() + component.ended.size();
  if (most < component.processes) return false;
  const auto twice = std::ranges::count_if(
      component.ended, [&](ProcessId process) { return record.processes.contains(process); });
  return most - static_cast<std::size_t>(twice) >= component.processes;
}

/// Its file has all of it.
bool Registry::is_on_disk(const Step& step) const {
  const auto dataset = datasets_.find(step.key);
  return step.drain == DrainState::ended && dataset != datasets_.end() && dataset->second.newest == &step &&
         !dataset->second.kept_path.empty();
}

/// After a process of it has come, or ended.
void Registry::review_steps_read_by(const Component& component) {
  std::vector<Step*> concerned;
  const auto collect = [&](Step* step) {
    const auto& readers = rule_of(step->key).readers;
    const auto reader = std::ranges::find(readers, component.name);
    if (reader == readers.end() || step->state != StepState::published) return;
    const ReaderRecord& record = step->read_by[static_cast<std::size_t>(reader - readers.begin())];
    const bool may_change = component.has_exited || component.processes == 0 ||
                            record.processes.size() + component.ended.size() >= component.processes;
    if (may_change) concerned.push_back(step);
  };
  for (const auto& [id, step] : unconsumed_) collect(step);
  for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
    for (Step* const step : doubtful_.steps_of(rule)) collect(step);
    if (component.processes > 0) continue;  // it may have been known before
    for (Step* const step : consumed_.steps_of(rule)) collect(step);
  }
  for (Step* const step : concerned) review(*step);
}

/// Gives up the first step on the node that somebody might ask for again: there is no room for it anywhere.
/// False when there is none.
bool Registry::erase_doubtful(std::uint32_t node, Medium medium) {
  Step* const first = doubtful_.first_on(node, medium);
  if (first == nullptr) return false;
  if (!std::exchange(has_told_of_doubtful_, true)) {
    answers_.event(quoted(first->key) +
                   " goes, although somebody may ask for it again: memory is used up, and " +
                   (spills() ? "so is the room in " + spill_directory_ : "there is no staging.spill") +
                   ". More may follow: raise staging.memory, or give staging.spill more room");
  }
  erase(*first);
  return true;
}

}  // namespace sluice::matcher
