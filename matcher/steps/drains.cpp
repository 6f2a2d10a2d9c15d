#include "drains.hpp"

#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

void Drains::want(Step& step) {
  drop_waiting(step.key);
  step.drain = DrainState::waiting;
  waiting_.push_back(&step);
}

void Drains::drop_waiting(const DatasetKey& key) {
  waiting_.remove_if([&](Step* step) {
    if (step->key != key) return false;
    step->drain = DrainState::none;
    return true;
  });
}

/// What cannot be written, and is removed, is not missed: its directory may have been renamed.
void Drains::forget(const DatasetKey& key) {
  drained_.erase(key);
  std::erase_if(failures_, [&](const Failure& failure) { return failure.key == key; });
  drop_waiting(key);
}

void Drains::start_next() {
  if (active_.step != 0 || waiting_.empty()) return;
  Step& next = *waiting_.front();
  waiting_.pop_front();
  next.drain = DrainState::active;
  const auto drained = drained_.find(next.key);
  if (drained != drained_.end() && drained->second.origin == next.origin) {
    next.drained_logs = drained->second.logs;
    next.drained_records = drained->second.records;
  }
  active_ = {next.id, {}, parts_.history.now_ms()};
  parts_.answers.drain(next);
}

bool Drains::is_active(const DatasetKey& key) const {
  return active_.step != 0 && parts_.datasets.step(active_.step).key == key;
}

void Drains::note(StepId step, const DrainProgress& progress) {
  if (active_.step == step) active_.progress = progress;
}

Step* Drains::end(StepId id, const DrainOutcome& outcome) {
  if (active_.step != id || id == 0) return nullptr;
  const std::uint64_t began_ms = std::exchange(active_, {}).began_ms;
  Step& step = parts_.datasets.step(id);
  parts_.history.add_drain(step.key.rule, step.name, began_ms, outcome.bytes);
  step.drain = DrainState::ended;
  Dataset& dataset = parts_.datasets[step.key];
  note_contents(step, outcome);
  const bool is_whole = parts_.rules.of(step.key).keep.variables.empty() && waiting_removals_.empty();
  dataset.kept_path = outcome.status == NC_NOERR && is_whole ? step.path : std::string();
  dataset.kept_version = step.version;
  if (outcome.status != NC_NOERR) {
    if (waiting_removals_.empty()) note_failure(step, outcome.text);
    parts_.logs.keep(step);
  } else {
    if (!step.is_cut) parts_.logs.let_go(step);
    dataset.kept_bytes += outcome.bytes;
    if (!dataset.kept_path.empty()) parts_.answers.on_disk(step, dataset.kept_path);
    if (step.is_cut)
      parts_.answers.event("the file " + step.path + " has only the published data: " + step.reason);
  }
  for (const Ticket& ticket : std::exchange(waiting_removals_, {})) parts_.answers.done(ticket);
  return &step;
}

void Drains::note_failure(const Step& step, const std::string& trouble) {
  const std::string text = parts_.names.quoted(step.key) + " could not be written to disk: " + trouble;
  failures_.push_back({step.key, text});
  // Of many failures, as on a full disk, the first ones say enough.
  constexpr std::size_t most_reported = 5;
  failures_.size() <= most_reported ? parts_.answers.event(text) : parts_.answers.detail(text);
}

/// For a step that was cut off, only its tables have the number of records.
void Drains::note_contents(const Step& step, const DrainOutcome& outcome) {
  const bool is_known = outcome.status == NC_NOERR && !step.is_cut && waiting_removals_.empty();
  DrainedFile& file = drained_[step.key];
  file.origin = is_known ? step.origin : 0;
  file.logs.clear();
  for (const auto& log : step.logs) file.logs.push_back(log->published);
  if (step.packed) {
    for (const LogView& log : step.packed->views()) file.logs.push_back(log.published);
  }
  file.records = step.record_count;
}

std::vector<std::string> Drains::failures() const {
  std::vector<std::string> texts;
  for (const Failure& failure : failures_) texts.push_back(failure.text);
  return texts;
}

void Drains::answer_removal(const Ticket& ticket, const DatasetKey& key) {
  if (is_active(key)) {
    waiting_removals_.push_back(ticket);
  } else {
    parts_.answers.done(ticket);
  }
}

std::optional<DrainStatus> Drains::active() const {
  if (active_.step == 0) return std::nullopt;
  const Step& step = parts_.datasets.step(active_.step);
  return DrainStatus{step.key.rule, step.name, active_.progress.done_bytes, active_.progress.total_bytes};
}

}  // namespace sluice::matcher
