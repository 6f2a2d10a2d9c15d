// Data that is in burst-buffer logs on disk (through: burst-buffer): docs/architecture.md, "Through logs".
#include <algorithm>

#include "quoted.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// The process has reserved the room itself: there is nothing to wait for.
void Registry::grant_log(const Ticket& ticket, Process& process, const SegmentRequest& request) {
  const auto [group, rank] = writing_membership(process, request.step);
  Step& step = *group->step;
  if (request.use != SegmentUse::data || request.bytes == 0 ||
      rule_of(step.key).through != Through::burst_buffer)
    throw Error(NC_EINVAL, process.name() + " puts into a log what does not belong there");
  WriteLog& log = *step.logs[step.first_own_log + rank];
  log.burst_log = request.log.metadata_path;
  log.data.push_back(pool(process.place.node)
                         .log({request.bytes, request.use, process.id, process.place.index}, request.log));
  if (request.log.is_kept) pool(process.place.node).memory().keep_log(log.data.back().id(), true);
  ++step.revision;
  datasets_[step.key].bytes_spilled += request.bytes;
  answers_.granted(ticket, log.data.back());
}

/// What is in the step's logs has not reached its file, and will not: `sluice recover` needs them, and those
/// of the steps that this one continues.
void Registry::keep_logs(const Step& step) {
  if (rule_of(step.key).through != Through::burst_buffer) return;
  Dataset& dataset = datasets_[step.key];
  std::string example;
  for (const auto& log : step.logs) {
    if (log->burst_log.empty() || log->data.empty()) continue;
    const SegmentId segment = log->data.front().id();
    pool(node_of(segment)).memory().keep_log(segment, true);
    dataset.kept_logs.push_back({step.id, segment});
    example = log->burst_log;
  }
  if (example.empty()) return;
  const auto slash = example.find_last_of('/');
  answers_.event("the burst-buffer logs of " + quoted(step.key) + " are kept: 'sluice recover " +
                 example.substr(0, slash) + "' brings what they hold to " + step.path);
}

void Registry::keep_unfinished_logs() {
  for (const auto& [id, step] : steps_) {
    const bool is_replaced =
        step->state == StepState::published && step->is_superseded && !step->is_draining();
    const bool is_done = step->drain == DrainState::ended || step->state == StepState::discarded;
    if (!is_done && !is_replaced) keep_logs(*step);
  }
}

/// The step has reached the file, so nobody needs what earlier ones had left.
void Registry::let_logs_go(const Step& drained) {
  std::erase_if(datasets_[drained.key].kept_logs, [&](const KeptLog& log) {
    if (log.step >= drained.id) return false;
    pool(node_of(log.segment)).memory().keep_log(log.segment, false);
    return true;
  });
}

/// The disk is for the next steps: what has been read, and is in its file, goes, but for the last of the
/// rule.
void Registry::free_disk(const Step& step) {
  const std::uint32_t rule = step.key.rule;
  if (rules_.at(rule).through != Through::burst_buffer) return;
  while (consumed_of_rule_[rule] > 1) {
    const auto oldest =
        std::ranges::find_if(consumed_, [&](const auto& entry) { return entry.second->key.rule == rule; });
    if (oldest == consumed_.end() || oldest->first.is_partial) return;
    erase(*oldest->second);
  }
}

}  // namespace sluice::matcher
