// Chooses the matchers that drain a step, and leads them through the stages.
#include <algorithm>
#include <set>
#include <utility>

#include "held_requests.hpp"
#include "registry_service.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

void RegistryService::order_drains() {
  for (const matcher::StepId id : std::exchange(drains_, {})) order_drain(registry_.step(id));
}

/// The matcher that has the step as a file; or the first matcher of each node that has logs of the step, and
/// always matcher 0.
std::vector<std::uint32_t> RegistryService::drainers_of(const matcher::Step& step) const {
  if (const auto file = file_steps_.find(step.id); file != file_steps_.end()) return {file->second.matcher};
  std::vector<std::uint32_t> drainers{0};
  std::set<std::uint32_t> nodes{nodes_.place_of(0).node};
  for (const auto& log : step.logs) {
    if (log->tables.empty()) continue;
    const std::uint32_t node = matcher::node_of(log->tables.front()->id());
    if (nodes.insert(node).second) drainers.push_back(nodes_.rank_of({node, 0}));
  }
  return drainers;
}

void RegistryService::order_drain(const matcher::Step& step) {
  drain_ = {SharedDrain::Stage::preparing, step.id, drainers_of(step), 0, {}, {}, {}};
  const auto drainers = drain_.drainers;  // a copy: a drainer that ends at once changes the member
  drain_.missing = drainers.size();
  DrainOrder order{step.path, step.version, rules_.at(step.key.rule).keep};
  order.parts = static_cast<std::uint32_t>(drainers.size());
  order.drained_logs = step.drained_logs;
  order.drained_records = step.drained_records;
  const RunIdentity run = read_run_identity();
  order.run = run.number;
  order.run_begin_ns = run.begin_ns;
  order.origin = step.origin;
  for (const std::uint32_t drainer : drainers) {
    tell_view(drainer, 0, step);
    send(drainer, BeginDrain{step.id, order});
    ++order.part;
  }
}

void RegistryService::take(std::uint32_t from, const DrainAdvanced& note) {
  if (note.step != drain_.step) return;
  drain_.parts[from] = note.progress;
  matcher::DrainProgress all;
  for (const auto& [matcher, part] : drain_.parts) {
    all.done_bytes += part.done_bytes;
    all.total_bytes = std::max(all.total_bytes, part.total_bytes);
  }
  registry_.note_drain(drain_.step, all);
}

void RegistryService::take(std::uint32_t /*from*/, DrainReady& ready) {
  if (ready.step != drain_.step) return;
  std::ranges::move(ready.tables.tables, std::back_inserter(drain_.tables.tables));
  if (!ready.tables.partial.empty()) drain_.tables.partial = std::move(ready.tables.partial);
  end_stage_of_drainer();
}

void RegistryService::take(std::uint32_t /*from*/, const Drained& drained) {
  if (drained.step != drain_.step) return;
  const DrainReport& report = drained.report;
  drain_.outcome.bytes += report.bytes;
  if (report.status != NC_NOERR && drain_.outcome.status == NC_NOERR) {
    drain_.outcome.status = report.status;
    drain_.outcome.text = report.text;
  }
  end_stage_of_drainer();
}

void RegistryService::end_stage_of_drainer() {
  if (--drain_.missing == 0) go_on_with_drain();
}

/// All drainers have finished the stage.
void RegistryService::go_on_with_drain() {
  using Stage = SharedDrain::Stage;
  const bool has_failed = drain_.outcome.status != NC_NOERR;
  const bool is_alone = drain_.drainers.size() == 1;
  if (is_alone || drain_.stage == Stage::finishing) {
    const SharedDrain ended = std::exchange(drain_, {});
    const DrainReport& outcome = ended.outcome;
    return registry_.drained(ended.step, {outcome.status, outcome.text, outcome.bytes});
  }
  const bool goes_on = drain_.stage == Stage::preparing && !has_failed;
  drain_.stage = goes_on ? Stage::writing : Stage::finishing;
  drain_.missing = goes_on ? drain_.drainers.size() : 1;
  const DrainTables tables = goes_on ? std::exchange(drain_.tables, {}) : DrainTables{};
  const auto drainers = drain_.drainers;
  const matcher::StepId step = drain_.step;
  for (const std::uint32_t drainer : drainers) {
    if (goes_on) {
      send(drainer, DrainPart{step, tables});
    } else {
      send(drainer, FinishDrain{step, !has_failed});
    }
  }
}

}  // namespace sluice::runtime
