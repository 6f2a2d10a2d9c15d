#include "burst_logs.hpp"

#include <memory>
#include <set>

#include "sluice/formats/error.hpp"

namespace sluice::matcher {

void BurstLogs::grant(const Ticket& ticket, const Process& process, const SegmentRequest& request) {
  const auto [group, rank] = parts_.datasets.must_write(process, request.step);
  Step& step = *group->step;
  if (request.use != SegmentUse::data || request.bytes == 0 ||
      parts_.rules.of(step.key).through != Through::burst_buffer)
    throw Error(NC_EINVAL, process.name() + " puts into a log what does not belong there");
  WriteLog& log = *step.logs[step.first_own_log + rank];
  log.burst_log.change() = request.log.metadata_path;
  log.data.push_back(std::make_shared<SegmentLease>(
      parts_.pools.at(process.place.node)
          .log({request.bytes, request.use, process.id, process.place.index}, request.log)));
  ++step.revision;
  parts_.datasets[step.key].bytes_spilled += request.bytes;
  parts_.answers.granted(ticket, *log.data.back());
}

void BurstLogs::keep(const Step& step) {
  if (parts_.rules.of(step.key).through != Through::burst_buffer) return;
  Kept& kept = kept_[step.key];
  std::string example;
  for (const auto& log : step.logs) {
    if (log->burst_log->empty() || log->data.empty()) continue;
    const SegmentId segment = log->data.front()->id();
    parts_.pools.of(segment).memory().keep_log(segment, true);
    kept.logs.push_back({step.id, segment});
    example = *log->burst_log;
  }
  if (example.empty()) return;
  const auto slash = example.find_last_of('/');
  kept.directory = example.substr(0, slash);
  parts_.answers.detail("the burst-buffer logs of " + parts_.names.quoted(step.key) +
                        " are kept: 'sluice recover " + kept.directory + "' writes their data to " +
                        step.path);
}

void BurstLogs::keep_unfinished(const std::function<bool(const Step&)>& is_left) {
  for (const auto& [id, step] : parts_.datasets.steps()) {
    const bool is_replaced =
        step->state == StepState::published && step->is_superseded && !step->is_draining();
    const bool is_done = step->drain == DrainState::ended || step->state == StepState::discarded;
    if ((!is_done && !is_replaced) || is_left(*step)) keep(*step);
  }
}

void BurstLogs::let_go(const Step& drained) {
  let_go_if(drained.key, [&](StepId step) { return step < drained.id; });
}

void BurstLogs::forget(const LostStep& lost) {
  let_go_if(lost.key, [&](StepId step) { return step == lost.step; });
}

template <class Condition>
void BurstLogs::let_go_if(const DatasetKey& key, const Condition& is_concerned) {
  const auto kept = kept_.find(key);
  if (kept == kept_.end()) return;
  std::set<SegmentId> gone;
  std::erase_if(kept->second.logs, [&](const KeptLog& log) {
    return is_concerned(log.step) && (gone.insert(log.segment), true);
  });
  // Steps that continue one another share logs.
  for (const KeptLog& log : kept->second.logs) gone.erase(log.segment);
  for (const SegmentId segment : gone) parts_.pools.of(segment).memory().keep_log(segment, false);
}

void BurstLogs::report(StatusReport& report) const {
  for (const auto& [key, kept] : kept_)
    if (!kept.logs.empty()) report.kept_logs.push_back({parts_.names.of(key), kept.directory});
}

}  // namespace sluice::matcher
