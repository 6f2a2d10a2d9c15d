#include "reader_book.hpp"

#include <algorithm>

namespace sluice::matcher {

namespace {

bool have_all_closed(const ReaderRecord& record, const Component& component) {
  if (component.may_restart()) return record.processes.size() >= component.processes;
  const std::size_t most = record.processes.size() + component.ended.size();
  if (most < component.processes) return false;
  const auto twice = std::ranges::count_if(
      component.ended, [&](ProcessId process) { return record.processes.contains(process); });
  return most - static_cast<std::size_t>(twice) >= component.processes;
}

bool have_all_read(const ReaderRecord& record, const boost::container::flat_set<ProcessId>& processes) {
  return std::ranges::all_of(processes,
                             [&](ProcessId process) { return record.processes.contains(process); });
}

}  // namespace

ReaderBook::ReaderBook(const FileRules& rules, const ProcessTable& processes, const DatasetTable& datasets,
                       const JobBook& jobs, const StepSequences& sequences)
    : rules_(rules),
      processes_(processes),
      datasets_(datasets),
      jobs_(jobs),
      sequences_(sequences),
      is_continued_rule_(rules.size()) {
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule)
    most_processes_.emplace_back(rules.at(rule).readers.size(), 0);
}

void ReaderBook::note_read(Step& step, const Group& group) {
  const auto& readers = rules_.of(step.key).readers;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] != group.component->name) continue;
    ReaderRecord& record = step.read_by[i];
    if (group.is_look()) {
      looked_at_[step.id].insert(i);
      continue;
    }
    const bool is_early = step.state == StepState::in_progress && step.publish_at != PublishAt::write;
    record.is_unfinished = false;
    record.has_died = false;
    std::vector<ProcessId> have_read;
    have_read.reserve(group.members.size());
    for (const auto& [rank, member] : group.members) {
      record.has_died = record.has_died || member.has_died;
      if (sequences_.is_to_open_again(step, group, member.process)) continue;
      if (member.has_died && group.component->may_restart()) {
        record.is_unfinished = true;
      } else if (is_early) {
        std::uint64_t& seen = record.early[member.process];
        seen = std::max(seen, group.seen_publication);
      } else {
        have_read.push_back(member.process);
      }
    }
    record.processes.insert(have_read);
    if (is_early || record.processes.empty()) continue;
    record.has_closed = true;
    std::size_t& most = most_processes_[step.key.rule][i];
    most = std::max(most, record.processes.size());
  }
}

/// Where the number of processes is not known, and where only some of them read the files of the rule, the
/// others are not expected. In a stream each process has a place.
bool ReaderBook::has_read(const Step& step, const Component& component) const {
  const FileRule& rule = rules_.of(step.key);
  const auto reader = rule.index_of(component.name);
  if (!reader || step.state != StepState::published) return false;
  if (jobs_.find(component.name, step.key.rule) != nullptr) return false;
  const ReaderRecord& record = step.read_by[*reader];
  if (!record.has_closed || record.has_died) return false;
  const bool is_partly = rule.is_stream ? record.processes.size() < component.processes
                                        : record.processes.size() < most_processes_[step.key.rule][*reader];
  return !is_partly;
}

void ReaderBook::note_early_readers(Step& step) {
  if (step.publish_at != PublishAt::sync) return;
  bool is_all_published = true;
  for (std::size_t i = step.first_own_log; i < step.logs.size() && !step.is_cut; ++i) {
    const WriteLog& log = *step.logs[i];
    is_all_published = is_all_published && log.synced->published_requests == log.contents->pattern.requests;
  }
  for (ReaderRecord& reader : step.read_by) {
    for (const auto& [process, seen] : reader.early)
      if (is_all_published && seen > 0 && seen == step.publications) reader.processes.insert(process);
    reader.has_closed = !reader.processes.empty();
    reader.early.clear();
  }
}

void ReaderBook::forget(StepId step) {
  looked_at_.erase(step);
}

bool ReaderBook::note_continued(std::uint32_t rule) {
  if (is_continued_rule_[rule]) return false;
  is_continued_rule_[rule] = true;
  return true;
}

bool ReaderBook::note_restart(Step& step, const Component& component) const {
  const auto reader = rules_.of(step.key).index_of(component.name);
  if (!reader) return false;
  ReaderRecord& record = step.read_by[*reader];
  const bool is_number_known = component.processes > 0;
  if (is_number_known && record.processes.size() >= component.processes) return true;
  const bool may_be_done = !is_number_known && record.has_closed && !record.is_unfinished;
  if (!may_be_done) {
    ReaderRecord again;
    again.is_passed = record.is_passed;
    again.is_skipped = record.is_skipped;
    again.is_taken = record.is_taken;
    record = std::move(again);
  }
  record.has_read_before = may_be_done;
  return true;
}

void ReaderBook::note_created_again(Step& step, const Component& writer) const {
  const Dataset* const dataset = datasets_.find(step.key);
  if (dataset == nullptr || dataset->steps_published == 0 || dataset->writer_restarts == writer.restarts)
    return;
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    step.read_by[i].has_read_before = dataset->newest != nullptr
                                          ? claim_of_reader(*dataset->newest, i) != Claim::needed
                                          : dataset->is_recycled;
  }
}

Claim ReaderBook::claim_on(const Step& step) const {
  Claim claim = is_continued_rule_[step.key.rule] ? Claim::doubtful : Claim::none;
  for (std::size_t i = 0; i < step.read_by.size(); ++i) claim = std::max(claim, claim_of_reader(step, i));
  return claim;
}

Claim ReaderBook::claim_of_reader(const Step& step, std::size_t reader) const {
  const Component* const component = processes_.find_component(rules_.of(step.key).readers[reader]);
  if (component == nullptr) return Claim::needed;
  const ReaderRecord& record = step.read_by[reader];
  if (component->has_exited) return Claim::none;
  if (sequences_.is_to_open_again(step, *component)) return Claim::needed;
  if (record.is_passed) return Claim::none;
  if (component->processes > 0 && have_all_closed(record, *component)) return Claim::none;
  if (const Jobs* jobs = jobs_.find(component->name, step.key.rule))
    return jobs->await(step.id) ? Claim::needed : Claim::none;
  const Claim claim_of_place = sequences_.claim_of_place(step, *component);
  if (claim_of_place == Claim::none) return Claim::none;
  if (!record.has_closed) return record.has_read_before ? Claim::doubtful : Claim::needed;
  // A process that asks for it again reads the file, unless it asks for the next step of a stream.
  if (datasets_.is_on_disk(step) && !rules_.of(step.key).is_stream) return Claim::none;
  if (record.is_unfinished) return Claim::needed;
  const bool is_known_to_be_missing =
      component->processes > 0 || (!record.has_read_before && !have_all_read(record, component->live));
  return is_known_to_be_missing ? claim_of_place : Claim::doubtful;
}

bool ReaderBook::is_left_unread(const Step& step) const {
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    const Component* const component = processes_.find_component(rules_.of(step.key).readers[i]);
    const ReaderRecord& record = step.read_by[i];
    if (component == nullptr || record.is_passed || jobs_.find(component->name, step.key.rule) != nullptr)
      continue;
    const bool is_read = record.has_closed && !record.has_died;
    if (!is_read && component->reason != well_ended) return true;
  }
  return false;
}

bool ReaderBook::is_given_up(const Step& step) const {
  for (std::size_t i = 0; i < step.read_by.size(); ++i)
    if (claim_of_reader(step, i) == Claim::needed && !is_given_up_by(step, i)) return false;
  return true;
}

/// A process without connections has ended or runs another program: it asks for nothing. One that has just
/// come asks next.
bool ReaderBook::is_given_up_by(const Step& step, std::size_t reader) const {
  const Component* const component = processes_.find_component(rules_.of(step.key).readers[reader]);
  const ReaderRecord& record = step.read_by[reader];
  const auto looked = looked_at_.find(step.id);
  const bool has_looked = looked != looked_at_.end() && looked->second.contains(reader);
  if (component != nullptr && !record.has_closed && has_looked) return is_given_up_by_lookers(*component);
  if (component == nullptr || component->processes > 0 || !record.has_closed || record.is_unfinished)
    return false;
  if (jobs_.find(component->name, step.key.rule) != nullptr) return false;
  if (sequences_.is_to_open_again(step, *component)) return false;
  if (component->look == Look::idle) return true;
  const bool have_enough_read = record.processes.size() >= most_processes_[step.key.rule][reader];
  return std::ranges::all_of(component->live, [&](ProcessId id) {
    const Process& process = processes_.processes().at(id);
    return (have_enough_read && process.has_opened) || record.processes.contains(id) ||
           process.connections == 0 || process.is_blocked();
  });
}

/// Who has only looked at a file may open it next, unless no process can do anything: some programs do no
/// more than look. A shell between `ls` and `cat` has no connection.
bool ReaderBook::is_given_up_by_lookers(const Component& component) const {
  if (component.look == Look::idle) return true;
  const bool are_all_there = component.processes > 0 && component.live.size() >= component.processes;
  return are_all_there && std::ranges::all_of(component.live, [&](ProcessId id) {
           const Process& process = processes_.processes().at(id);
           return process.connections == 0 || process.is_blocked();
         });
}

std::string ReaderBook::unknown_reader(const Step& step) const {
  for (const std::string& reader : rules_.of(step.key).readers) {
    const Component* const component = processes_.find_component(reader);
    const bool is_known = component == nullptr || component->processes > 0 || component->has_exited ||
                          jobs_.find(reader, step.key.rule) != nullptr;
    if (!is_known) return reader;
  }
  return {};
}

bool ReaderBook::is_partly_read(const Step& step) const {
  for (std::size_t i = 0; i < step.read_by.size(); ++i) {
    if (step.read_by[i].processes.size() < most_processes_[step.key.rule][i]) return true;
  }
  return false;
}

bool ReaderBook::may_change_claim(const Step& step, const Component& component) const {
  const auto reader = rules_.of(step.key).index_of(component.name);
  if (!reader || step.state != StepState::published) return false;
  if (jobs_.find(component.name, step.key.rule) != nullptr) return component.has_exited;
  const ReaderRecord& record = step.read_by[*reader];
  return component.has_exited || component.processes == 0 ||
         record.processes.size() + component.ended.size() >= component.processes;
}

bool ReaderBook::have_readers_ended(std::uint32_t rule) const {
  return std::ranges::all_of(rules_.at(rule).readers,
                             [&](const std::string& reader) { return has_ended(reader); });
}

bool ReaderBook::has_ended(const std::string& reader) const {
  const Component* const component = processes_.find_component(reader);
  if (component == nullptr) return false;
  const bool are_all_gone = component->processes > 0 && component->ended.size() >= component->processes;
  return component->has_exited || (are_all_gone && !component->may_restart());
}

}  // namespace sluice::matcher
