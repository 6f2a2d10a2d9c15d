#include "step_sequences.hpp"

#include <algorithm>

namespace sluice::matcher {
namespace {

/// The number of a step in a sequence whose last one is `last`: the one that it has, or else the next one.
std::uint64_t numbered(std::uint64_t& last, std::uint64_t number) {
  if (number == 0) number = last + 1;
  last = std::max(last, number);
  return number;
}

}  // namespace

StepSequences::StepSequences(const FileRules& rules, const ProcessTable& processes, const JobBook& jobs)
    : rules_(rules), processes_(processes), jobs_(jobs), published_(rules.size()) {
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule)
    counts_.emplace_back(rules.at(rule).readers.size());
}

DatasetKey StepSequences::sequence_key(const DatasetKey& key) const {
  return rules_.of(key).is_stream ? key : DatasetKey{key.rule, {}};
}

const StepSequences::Sequence* StepSequences::find(const DatasetKey& key) const {
  const auto found = sequences_.find(sequence_key(key));
  return found == sequences_.end() ? nullptr : &found->second;
}

void StepSequences::go_on(const FormerCount& former) {
  std::uint64_t& last = sequences_[former.key].last;
  last = std::max(last, former.steps);
}

std::vector<Step*> StepSequences::note_published(Step& step) {
  const FileRule& rule = rules_.of(step.key);
  Sequence& sequence = sequences_[sequence_key(step.key)];
  Step* const previous = sequence.live.empty() ? nullptr : sequence.live.rbegin()->second;
  step.number = numbered(sequence.last, step.number);
  step.number_in_rule =
      rule.is_stream ? numbered(sequences_[{step.key.rule, {}}].last, step.number_in_rule) : step.number;
  ++published_[step.key.rule];
  sequence.live.emplace(step.number, &step);
  if (rule.queue > 0) sequence.unread.emplace(step.number, &step);
  std::vector<Step*> passed;
  bool is_previous_passed = false;
  for (std::size_t i = 0; i < rule.readers.size(); ++i) {
    const ReaderMode mode = rule.mode_of(rule.readers[i]);
    if (!mode.selects(step.number) && pass_by_mode(step, i) && passed.empty()) passed.push_back(&step);
    if (mode.mode == ReadMode::latest && previous != nullptr)
      is_previous_passed = pass_by_mode(*previous, i) || is_previous_passed;
  }
  if (is_previous_passed) passed.push_back(previous);
  return passed;
}

/// Returns false when the reader had passed it before.
bool StepSequences::pass_by_mode(Step& step, std::size_t reader) {
  ReaderRecord& record = step.read_by[reader];
  if (record.is_passed) return false;
  record.is_passed = true;
  record.is_skipped = !record.is_taken;
  if (record.is_skipped) ++counts_[step.key.rule][reader].skipped;
  return true;
}

void StepSequences::note_taken(Step& step, const Group& group) {
  const FileRule& rule = rules_.of(step.key);
  const auto reader = rule.index_of(group.component->name);
  if (group.is_look() || !reader) return;
  ReaderRecord& record = step.read_by[*reader];
  Counts& counts = counts_[step.key.rule][*reader];
  if (!record.is_taken) ++counts.taken;
  if (record.is_skipped) --counts.skipped;
  record.is_taken = true;
  record.is_skipped = false;
  if (!rule.is_stream || step.number == 0) return;
  places_.note_taken(group, step.number);
  opens_.note_taken(group, step.number);
  if (group.member.size == 1 && jobs_.find(group.component->name) == nullptr)
    commands_.note_taken(*group.component, group.members.begin()->second.process, step.key);
}

void StepSequences::note_joined(const Group& group, ProcessId process) {
  const bool has_place = group.purpose == Purpose::read && group.step != nullptr && !group.is_look();
  if (!has_place || !rules_.of(group.key).is_stream) return;
  places_.note_joined(group, process, group.step->number);
  opens_.note_joined(group, process, group.step->number);
}

/// A process that has ended with fewer opens wants no more of the step; or it has died between them.
std::optional<CommandSteps::Finding> StepSequences::forget(const Component& component, ProcessId process) {
  for (const RepeatedOpens::Place& place : opens_.forget(component, process)) {
    const Sequence* const sequence = find(place.key);
    const auto found = sequence->live.find(place.number);
    if (found == sequence->live.end() || component.may_restart()) continue;
    ReaderRecord& record = found->second->read_by.at(rules_.of(place.key).index_of(component.name).value());
    record.has_closed = record.has_died = true;
  }
  return commands_.end(component, process);
}

void StepSequences::erase(const Step& step, Dataset& dataset) {
  const auto found = sequences_.find(sequence_key(step.key));
  if (step.number == 0 || found == sequences_.end()) return;
  found->second.live.erase(step.number);
  found->second.unread.erase(step.number);
  dataset.number = step.number;
  dataset.passed_by.clear();
  dataset.taken_by.clear();
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    const ReaderRecord& record = step.read_by[i];
    if (record.is_taken) dataset.taken_by.push_back(i);
    if (record.is_passed && !record.is_taken) dataset.passed_by.push_back({i, record.is_skipped});
  }
}

Step* StepSequences::next_for(const Group& group) const {
  const Sequence* const sequence = find(group.key);
  if (sequence == nullptr || sequence->live.empty()) return nullptr;
  const FileRule& rule = rules_.of(group.key);
  const std::size_t reader = rule.index_of(group.component->name).value();
  const auto present = sequence->live.find(opens_.present(group));
  if (present != sequence->live.end()) return present->second;
  const std::uint64_t place = places_.of(group);
  const auto newest = sequence->live.rbegin();
  if (rule.mode_of(group.component->name).mode == ReadMode::latest)
    return newest->first > place ? newest->second : nullptr;
  for (auto next = sequence->live.upper_bound(place); next != sequence->live.end(); ++next) {
    if (!next->second->read_by[reader].is_passed) return next->second;
  }
  return nullptr;
}

void StepSequences::note_restart(const Component& component) {
  opens_.forget(component);
  for (const auto& [key, sequence] : sequences_) {
    const FileRule& rule = rules_.of(key);
    const auto reader = rule.index_of(component.name);
    if (!rule.is_stream || !reader) continue;
    const auto is_unread = [&](const auto& entry) { return is_unread_by(*entry.second, *reader); };
    const auto first = std::ranges::find_if(sequence.live, is_unread);
    places_.restart(key, component, first == sequence.live.end() ? sequence.last : first->first - 1);
  }
}

Step* StepSequences::before(const Step& step) const {
  const Sequence* const sequence = rules_.of(step.key).is_stream ? find(step.key) : nullptr;
  if (sequence == nullptr) return nullptr;
  const auto here = sequence->live.lower_bound(step.number);
  return here == sequence->live.begin() ? nullptr : std::prev(here)->second;
}

/// A component of unknown size has one place. After a process that has looked at a step alone, all of them
/// may come together. So the last step that was taken stays while there is memory.
Claim StepSequences::claim_of_place(const Step& step, const Component& component) const {
  if (!rules_.of(step.key).is_stream || component.processes > 0) return Claim::needed;
  const StreamPlace place = places_.of(step.key, component);
  if (step.number > place.alone) return Claim::needed;
  if (place.together > 0) return step.number > place.together ? Claim::needed : Claim::none;
  return step.number == place.alone ? Claim::doubtful : Claim::none;
}

bool StepSequences::has_taken_any(std::uint32_t rule, const std::string& component) const {
  const auto reader = rules_.at(rule).index_of(component);
  return reader && counts_[rule][*reader].taken > 0;
}

bool StepSequences::is_unread_by(const Step& step, std::size_t reader) const {
  const ReaderRecord& record = step.read_by[reader];
  if (record.has_closed || record.is_passed) return false;
  const std::string& name = rules_.of(step.key).readers[reader];
  const Jobs* const jobs = jobs_.find(name, step.key.rule);
  if (jobs != nullptr && !jobs->await(step.id)) return false;  // the job need not have opened its file
  const Component* const component = processes_.find_component(name);
  return component == nullptr || !component->has_exited;
}

bool StepSequences::is_unread(const Step& step) const {
  for (std::size_t i = 0; i < step.read_by.size(); ++i)
    if (is_unread_by(step, i)) return true;
  return false;
}

bool StepSequences::has_unread(Sequence& sequence, std::size_t number) const {
  std::size_t count = 0;
  for (auto entry = sequence.unread.begin(); entry != sequence.unread.end() && count < number;) {
    const bool counts = is_unread(*entry->second);
    count += counts ? 1U : 0U;
    entry = counts ? std::next(entry) : sequence.unread.erase(entry);
  }
  return count >= number;
}

bool StepSequences::is_full(const DatasetKey& key) {
  const std::uint32_t queue = rules_.of(key).queue;
  const auto found = sequences_.find(sequence_key(key));
  return queue > 0 && found != sequences_.end() && has_unread(found->second, queue);
}

Step* StepSequences::discard_oldest(const DatasetKey& key) {
  const FileRule& rule = rules_.of(key);
  const auto found = sequences_.find(sequence_key(key));
  if (rule.when_full != WhenFull::discard || found == sequences_.end() ||
      !has_unread(found->second, std::size_t{rule.queue} + 1))
    return nullptr;
  for (const auto& [number, step] : found->second.unread) {
    const bool has_job = std::ranges::any_of(rule.readers, [&, id = step->id](const std::string& reader) {
      const Jobs* const jobs = jobs_.find(reader, key.rule);
      return jobs != nullptr && jobs->await(id);
    });
    const bool is_open = has_job || !step->readers.empty() || opens_.is_wanted({step->key, number});
    if (is_open || number == found->second.last) continue;
    for (ReaderRecord& record : step->read_by)
      record.is_passed = record.is_passed || !record.has_closed;  // its other ranks may follow
    return step;
  }
  return nullptr;
}

std::vector<const Step*> StepSequences::unread(const DatasetKey& key) const {
  std::vector<const Step*> steps;
  const Sequence* const sequence = find(key);
  if (sequence == nullptr) return steps;
  for (const auto& [number, step] : sequence->unread)
    if (is_unread(*step)) steps.push_back(step);
  return steps;
}

std::string StepSequences::passed_text(const DatasetKey& key, const Dataset& dataset,
                                       const std::string& reader) const {
  const FileRule& rule = rules_.of(key);
  const std::size_t index = rule.index_of(reader).value_or(rule.readers.size());
  const auto passed = std::ranges::find(dataset.passed_by, index, &PassedBy::reader);
  if (passed == dataset.passed_by.end()) return {};
  if (!passed->is_by_mode)
    return " was discarded before " + reader + " had opened it: " + std::to_string(rule.queue) +
           (rule.queue == 1 ? " newer step was" : " newer steps were") +
           " unread (`queue` and `when-full: discard` in the rule)";
  const ReaderMode mode = rule.mode_of(reader);
  return " was skipped for " + reader + ": the rule says `" + reader + ": " +
         (mode.mode == ReadMode::latest
              ? "latest`, and a newer step is published"
              : std::to_string(mode.every) + "`, and this is step " + std::to_string(dataset.number));
}

void StepSequences::report(std::vector<RuleStatus>& rules) const {
  for (std::uint32_t rule = 0; rule < rules_.size() && rule < rules.size(); ++rule) {
    const auto& readers = rules_.at(rule).readers;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const Counts& counts = counts_[rule][i];
      const std::uint64_t known = counts.taken + counts.skipped;
      rules[rule].readers.push_back(
          {readers[i], counts.taken, counts.skipped, published_[rule] - std::min(published_[rule], known)});
    }
  }
}

}  // namespace sluice::matcher
