// Steps that are written to files on disk: docs/architecture.md, "Draining".
#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// The step is complete. It holds all that an earlier one of the same name holds which has not begun.
void Registry::want_drain(Step& step) {
  drop_waiting_drains(step.key);
  step.drain = DrainState::waiting;
  waiting_drains_.push_back(&step);
}

/// Those steps are kept no longer for their files.
void Registry::drop_waiting_drains(const DatasetKey& key) {
  waiting_drains_.remove_if([&](Step* step) {
    if (step->key != key) return false;
    step->drain = DrainState::none;
    return true;
  });
}

/// One after the other: each has the whole bandwidth, and its memory is free the sooner.
void Registry::start_next_drain() {
  if (active_drain_.step != 0 || waiting_drains_.empty()) return;
  Step& next = *waiting_drains_.front();
  waiting_drains_.pop_front();
  next.drain = DrainState::active;
  const Dataset& dataset = datasets_[next.key];
  if (dataset.drained_origin == next.origin) {
    next.drained_logs = dataset.drained_logs;
    next.drained_records = dataset.drained_records;
  }
  active_drain_ = {next.id, {}};
  answers_.drain(next);
}

bool Registry::is_being_drained(const DatasetKey& key) const {
  return active_drain_.step != 0 && steps_.at(active_drain_.step)->key == key;
}

void Registry::note_drain(StepId step, const DrainProgress& progress) {
  if (active_drain_.step == step) active_drain_.progress = progress;
}

void Registry::drained(StepId id, const DrainOutcome& outcome) {
  if (active_drain_.step != id || id == 0) return;
  active_drain_ = {};
  Step& step = *steps_.at(id);
  step.drain = DrainState::ended;
  Dataset& dataset = datasets_[step.key];
  // Of a step that was cut off the number of records is in its tables.
  const bool is_known = outcome.status == NC_NOERR && !step.is_cut && waiting_removals_.empty();
  dataset.drained_origin = is_known ? step.origin : 0;
  dataset.drained_logs.clear();
  for (const auto& log : step.logs) dataset.drained_logs.push_back(log->published);
  dataset.drained_records = step.record_count;
  const bool is_whole = rule_of(step.key).keep.variables.empty() && waiting_removals_.empty();
  dataset.kept_path = outcome.status == NC_NOERR && is_whole ? step.path : std::string();
  dataset.kept_version = step.version;
  if (outcome.status != NC_NOERR) {
    drain_failures_.push_back(quoted(step.key) + " is not on disk as it should be: " + outcome.text);
    // of many, as on a full disk, the first tell enough
    constexpr std::size_t most_told = 5;
    drain_failures_.size() <= most_told ? answers_.event(drain_failures_.back())
                                        : answers_.detail(drain_failures_.back());
    keep_logs(step);
  } else {
    if (!step.is_cut) let_logs_go(step);
    dataset.kept_bytes += outcome.bytes;
    if (step.is_cut) answers_.event("the file " + step.path + " has only what was published: " + step.reason);
  }
  for (const Ticket& ticket : std::exchange(waiting_removals_, {})) answers_.done(ticket);
  review(step);
  start_next_drain();
  advance();
}

void Registry::report_drains(StatusReport& report) const {
  if (active_drain_.step != 0) {
    const Step& step = *steps_.at(active_drain_.step);
    report.drains.push_back({step.key.rule, step.name, true, active_drain_.progress.done_bytes,
                             active_drain_.progress.total_bytes});
  }
  for (const Step* step : waiting_drains_) report.drains.push_back({step->key.rule, step->name});
  report.drain_failures = drain_failures_;
  report.components_ended = processes_.ended_components();
}

}  // namespace sluice::matcher
