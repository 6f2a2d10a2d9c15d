#include "dataset_table.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

bool Dataset::is_closed_by(std::optional<ProcessId> process) const {
  return std::ranges::any_of(in_progress, [&](const Step* step) {
    return std::ranges::any_of(step->writers->members, [&](const auto& member) {
      return member.second.is_finished && (!process || member.second.process == *process);
    });
  });
}

Step* Dataset::visible_in_progress() const {
  const auto is_visible = [](const Step* step) {
    return step->publications > 0 || (step->publish_at == PublishAt::write && !step->header.empty());
  };
  const auto last = std::find_if(in_progress.rbegin(), in_progress.rend(), is_visible);
  return last == in_progress.rend() ? nullptr : *last;
}

void Dataset::note_missed_by(const std::string& component, const FileRule& rule) {
  const auto reader =
      static_cast<std::size_t>(std::ranges::find(rule.readers, component) - rule.readers.begin());
  const bool is_unread = reader < had_read.size() && had_read[reader].empty() && !rule.is_stream &&
                         std::ranges::find(passed_by, reader, &PassedBy::reader) == passed_by.end();
  const bool is_gone = is_past() && kept_path.empty() && !removed_by.contains(component);
  if (is_gone && claim != Claim::none && is_unread) steps_lost = std::max(steps_lost, 1U);
}

namespace {

Fingerprint fingerprint_of(const DatasetKey& key) {
  FingerprintBuilder builder;
  builder.add(std::uint64_t{key.rule});
  builder.add_bytes(std::as_bytes(std::span(key.name)));
  return builder.value();
}

}  // namespace

Dataset& DatasetTable::operator[](const DatasetKey& key) {
  const auto found = datasets_.find(key);
  if (found != datasets_.end()) return found->second;
  Dataset* const unfolded = unfold(key);
  return unfolded != nullptr ? *unfolded : datasets_[key];
}

const Dataset& DatasetTable::at(const DatasetKey& key) const {
  const Dataset* const dataset = find(key);
  return dataset != nullptr ? *dataset : datasets_.at(key);
}

const Dataset* DatasetTable::find(const DatasetKey& key) const {
  const auto found = datasets_.find(key);
  return found == datasets_.end() ? unfold(key) : &found->second;
}

Dataset* DatasetTable::unfold(const DatasetKey& key) const {
  if (folded_[0].empty() && folded_[1].empty()) return nullptr;
  const Fingerprint fingerprint = fingerprint_of(key);
  auto known = folded_[0].extract(fingerprint);
  if (known.empty()) known = folded_[1].extract(fingerprint);
  if (known.empty()) return nullptr;
  Dataset& dataset = datasets_[key];
  Folded& folded = known.mapped();
  dataset.is_recycled = true;
  dataset.claim = folded.claim;
  dataset.number = folded.number;
  dataset.passed_by = std::move(folded.passed_by);
  dataset.steps_published = folded.steps_published;
  dataset.writer_restarts = folded.writer_restarts;
  dataset.kept_version = folded.kept_version;
  if (folded.is_kept) dataset.kept_path = key.name;
  FoldedSum& sum = folded_sums_[key.rule];  // its other figures stay there
  --sum.files;
  sum.steps_published -= folded.steps_published;
  past_.push_back(key);
  return &dataset;
}

void DatasetTable::fold(const DatasetKey& key, Dataset& dataset) {
  FoldedSum& sum = folded_sums_[key.rule];
  ++sum.files;
  sum.steps_published += dataset.steps_published;
  sum.steps_discarded += dataset.steps_discarded;
  sum.steps_lost += dataset.steps_lost;
  sum.counters += dataset.counters;
  sum.kept_bytes += dataset.kept_bytes;
  sum.bytes_spilled += dataset.bytes_spilled;
  if (folded_[0].size() >= least_folded_) {
    folded_[1] = std::move(folded_[0]);
    folded_[0].clear();
  }
  folded_[0].insert_or_assign(
      fingerprint_of(key),
      Folded{dataset.number, dataset.steps_published, dataset.writer_restarts, dataset.claim,
             !dataset.kept_path.empty(), dataset.kept_version, std::move(dataset.passed_by)});
}

void DatasetTable::fold_past(const std::function<void(const DatasetKey&, const Dataset&)>& forget) {
  last_count_ = {};
  while (past_.size() > most_past_) {
    const DatasetKey key = std::move(past_.front());
    past_.pop_front();
    const auto found = datasets_.find(key);
    if (found == datasets_.end() || !found->second.is_past()) continue;
    Dataset& dataset = found->second;
    const bool has_own_path = !dataset.kept_path.empty() && dataset.kept_path != key.name;
    if (has_own_path || !dataset.written_path.empty() || dataset.steps_lost > 0) continue;
    forget(key, dataset);
    fold(key, dataset);
    datasets_.erase(found);
  }
}

std::vector<const Step*> DatasetTable::in_progress() const {
  std::vector<const Step*> steps;
  for (const auto& [id, step] : steps_) {
    if (step->state == StepState::in_progress) steps.push_back(step.get());
  }
  return steps;
}

Step& DatasetTable::add(std::unique_ptr<Step> step) {
  if (step->id == 0) step->id = new_step();
  if (step->origin == 0) step->origin = step->id;
  Step& added = *step;
  (*this)[added.key].in_progress.push_back(&added);
  steps_.emplace(added.id, std::move(step));
  return added;
}

Step* DatasetTable::find_step(StepId id) const noexcept {
  const auto found = steps_.find(id);
  return found == steps_.end() ? nullptr : found->second.get();
}

const Step& DatasetTable::usable_step(StepId id) const {
  const Step* const step = find_step(id);
  if (step == nullptr) throw Error(NC_EBADID, "there is no step " + std::to_string(id));
  if (step->state == StepState::discarded) throw Error(NC_EIO, step->reason);
  return *step;
}

GroupMembership DatasetTable::reader(const Process& process, StepId id) const noexcept {
  const Step* const step = find_step(id);
  return step == nullptr ? GroupMembership{} : process.reads(*step);
}

GroupMembership DatasetTable::writer(const Process& process, StepId id) const noexcept {
  const Step* const step = find_step(id);
  return step == nullptr ? GroupMembership{} : process.writes(*step);
}

GroupMembership DatasetTable::closing_reader(const Process& process, const ReadEnd& close) const noexcept {
  const Step* const step = find_step(close.step);
  return step == nullptr ? GroupMembership{} : process.closes(*step, close);
}

GroupMembership DatasetTable::must_write(const Process& process, StepId id) const {
  const GroupMembership found = writer(process, id);
  if (found.group != nullptr) return found;
  throw Error(NC_EINVAL, process.name() + " is not writing step " + std::to_string(id));
}

bool DatasetTable::is_on_disk(const Step& step) const {
  const Dataset* const dataset = find(step.key);
  return step.drain == DrainState::ended && dataset != nullptr && dataset->newest == &step &&
         !dataset->kept_path.empty();
}

void DatasetTable::count(const DatasetKey& key, const std::string& component,
                         const AccessCounters& counters) {
  if (last_count_.dataset == nullptr || last_count_.key != key || last_count_.component != component)
    last_count_ = {key, component, &(*this)[key], &uses_[{key.rule, component}]};
  last_count_.dataset->counters += counters;
  *last_count_.use += counters;
}

void DatasetTable::note_published(const DatasetKey& key) {
  Dataset& dataset = (*this)[key];
  RuleTotals& totals = totals_[key.rule];
  if (dataset.steps_published++ == 0) ++totals.files;
  ++totals.steps;
}

void DatasetTable::note_discarded(const DatasetKey& key) {
  ++(*this)[key].steps_discarded;
  ++totals_[key.rule].discarded;
}

RuleTotals DatasetTable::totals_of(std::uint32_t rule) const {
  const auto found = totals_.find(rule);
  return found == totals_.end() ? RuleTotals{} : found->second;
}

std::vector<RuleUse> DatasetTable::uses() const {
  std::vector<RuleUse> uses;
  for (const auto& [of, counters] : uses_) uses.push_back({of.rule, of.component, counters});
  return uses;
}

std::map<DatasetKey, std::uint64_t> DatasetTable::staged_bytes() const {
  std::map<DatasetKey, std::uint64_t> staged;
  for (const auto& [id, step] : steps_) {
    const bool is_newest = step->state == StepState::published && !step->is_superseded;
    BytesByMedium sums;
    for (std::size_t i = is_newest ? 0 : step->first_own_log; i < step->logs.size(); ++i)
      step->logs[i]->add_bytes(sums);
    if (step->packed) step->packed->add_bytes(sums);
    for (const auto& [node, node_bytes] : sums.in(Medium::memory)) staged[step->key] += node_bytes;
  }
  return staged;
}

}  // namespace sluice::matcher
