// What readers see of a step while it is written: docs/architecture.md, "Reading what is being written".
#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

void Registry::sync(const Ticket& ticket, ProcessId process, const SyncRequest& request) {
  const auto [group, rank] = writing_membership(processes_.at(process), request.step);
  Step& step = *group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (step.publish_at != PublishAt::sync)
    throw Error(NC_EINVAL, quoted(step.key) + " is not published by ncmpi_sync");
  WriteLog& log = *step.logs[step.first_own_log + rank];
  if (request.point.position.chunks > log.tables.size())
    throw Error(NC_EINVAL, "it has put more than its request tables hold");
  if (!log.synced) ++group->synced;
  log.synced = request.point;
  const bool is_complete = group->has_all_arrived() && group->synced + group->finished == group->size;
  if (is_complete) publish_synced(step);
  answers_.done(ticket);
  if (is_complete) advance_on(step.key);
}

/// All processes of the group have told what they had put: readers see it, all of it at once.
void Registry::publish_synced(Step& step) {
  step.published_records = std::max(step.published_records, step.record_count);
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) {
    WriteLog& log = *step.logs[i];
    const SyncPoint point =
        log.synced.value_or(SyncPoint{log.end, 0, log.pattern.requests});  // it has closed
    log.published = point.position;
    log.published_requests = point.requests;
    log.synced.reset();
    step.published_records = std::max(step.published_records, point.record_count);
  }
  step.writers->synced = 0;
  ++step.publications;
  ++step.revision;
}

/// The step that an open for reading finds although it is still written: a file that is being overwritten is
/// seen from the first moment that anything is seen of it.
Step* Registry::visible_in_progress(const Dataset& dataset) const {
  const auto is_visible = [](const Step* step) {
    return step->publications > 0 || (step->publish_at == PublishAt::write && !step->header.empty());
  };
  const auto last = std::find_if(dataset.in_progress.rbegin(), dataset.in_progress.rend(), is_visible);
  return last == dataset.in_progress.rend() ? nullptr : *last;
}

/// A writer has ended before it had closed the step: what readers could see of it is all that it will ever
/// hold, as with a file.
void Registry::cut_step(Step& step, const std::string& reason) {
  const bool is_synced = step.publish_at == PublishAt::sync;
  step.is_cut = true;
  step.reason = quoted(step.key) + " ends with " +
                (is_synced ? "what was put before the last ncmpi_sync" : "what was put so far") + ": " +
                reason;
  if (is_synced) step.record_count = step.published_records;
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) step.logs[i]->is_cut = true;
  drop_memory_waits_on(step, step.reason);
  answers_.event(step.reason);
  complete(step);
}

/// The step is complete. Who closed it before may have seen everything that is in it; then it need not come
/// again. Where every put is visible at once, a reader waits for what it needs, and is done when it closes.
void Registry::note_early_readers(Step& step) {
  if (step.publish_at != PublishAt::sync) return;
  bool is_all_published = true;
  for (std::size_t i = step.first_own_log; i < step.logs.size() && !step.is_cut; ++i) {
    const WriteLog& log = *step.logs[i];
    is_all_published = is_all_published && log.published_requests == log.pattern.requests;
  }
  for (ReaderRecord& reader : step.read_by) {
    for (const auto& [process, seen] : reader.early)
      if (is_all_published && seen > 0 && seen == step.publications) reader.processes.insert(process);
    reader.has_closed = !reader.processes.empty();
    reader.early.clear();
  }
}

void Registry::wait_for_puts(const Ticket& ticket, ProcessId process, StepId id, const std::string& what) {
  Process& caller = processes_.at(process);
  (void)step_for_get(process, id);
  get_waits_.push_back({ticket, process, id, what, now_ms_()});
  ProcessTable::change(caller, [&] { ++caller.waits; });
  fail_waits();
}

void Registry::end_get_wait(const Ticket& ticket) {
  get_waits_.remove_if([&](const GetWait& wait) {
    if (wait.ticket != ticket) return false;
    if (Process* const process = processes_.find(wait.process))
      ProcessTable::change(*process, [&] { --process->waits; });
    return true;
  });
}

void Registry::refuse_get(const GetWait& wait, int status, const std::string& text) {
  const GetWait refused = wait;  // it leaves the list
  end_get_wait(refused.ticket);
  answers_.event(processes_.at(refused.process).name() + " cannot read " + refused.text + ": " + text);
  answers_.refused(refused.ticket, status, text);
}

}  // namespace sluice::matcher
