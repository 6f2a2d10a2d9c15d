#include "drain_stages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sluice/formats/status.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::runtime {

namespace {

matcher::DrainOutcome outcome_of(const DrainReport& report) {
  return {report.status, report.text, report.bytes};
}

}  // namespace

void DrainStages::start_added() {
  for (const matcher::StepId id : std::exchange(added_, {})) start(parts_.registry.step(id));
}

/// The matcher that has the step as a file; or the first matcher of each node that has logs of the step, and
/// always matcher 0.
std::vector<std::uint32_t> DrainStages::drainers_of(const matcher::Step& step) const {
  if (const auto matcher = parts_.informed.matcher_with_file(step.id)) return {*matcher};
  std::vector<std::uint32_t> drainers{0};
  for (const std::uint32_t node : step.table_nodes()) {
    if (node != parts_.nodes.place_of(0).node) drainers.push_back(parts_.nodes.rank_of({node, 0}));
  }
  return drainers;
}

void DrainStages::start(const matcher::Step& step) {
  drain_ = {Drain::Stage::preparing, step.id, drainers_of(step), 0, {}, {}, {}};
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
    parts_.informed.tell(drainer, 0, step);
    parts_.outlet.send_to(drainer, MakeCopy{step.id, order});
    ++order.part;
  }
}

void DrainStages::take(std::uint32_t from, CopyNote& note) {
  if (const auto* const image = std::get_if<ImageReport>(&note.what))
    return parts_.registry.image_made(note.step, image->file, outcome_of(image->report));
  if (note.step != drain_.step) return;
  std::visit([&](auto& what) { take_part(from, what); }, note.what);
}

void DrainStages::take_part(std::uint32_t from, const matcher::DrainProgress& progress) {
  drain_.parts[from] = progress;
  matcher::DrainProgress all;
  for (const auto& [matcher, part] : drain_.parts) {
    all.done_bytes += part.done_bytes;
    all.total_bytes = std::max(all.total_bytes, part.total_bytes);
  }
  parts_.registry.note_drain(drain_.step, all);
}

void DrainStages::take_part(std::uint32_t /*from*/, DrainTables& tables) {
  std::ranges::move(tables.tables, std::back_inserter(drain_.tables.tables));
  if (!tables.partial.empty()) drain_.tables.partial = std::move(tables.partial);
  end_stage_of_drainer();
}

void DrainStages::take_part(std::uint32_t /*from*/, const DrainReport& report) {
  drain_.outcome.bytes += report.bytes;
  if (report.status != NC_NOERR && drain_.outcome.status == NC_NOERR) {
    drain_.outcome.status = report.status;
    drain_.outcome.text = report.text;
  }
  end_stage_of_drainer();
}

void DrainStages::end_stage_of_drainer() {
  if (--drain_.missing == 0) go_on();
}

/// All drainers have finished the stage.
void DrainStages::go_on() {
  using Stage = Drain::Stage;
  const bool has_failed = drain_.outcome.status != NC_NOERR;
  const bool is_alone = drain_.drainers.size() == 1;
  if (is_alone || drain_.stage == Stage::finishing) {
    const Drain ended = std::exchange(drain_, {});
    return parts_.registry.drained(ended.step, outcome_of(ended.outcome));
  }
  const bool goes_on = drain_.stage == Stage::preparing && !has_failed;
  drain_.stage = goes_on ? Stage::writing : Stage::finishing;
  drain_.missing = goes_on ? drain_.drainers.size() : 1;
  const DrainTables tables = goes_on ? std::exchange(drain_.tables, {}) : DrainTables{};
  const auto drainers = drain_.drainers;
  const matcher::StepId step = drain_.step;
  for (const std::uint32_t drainer : drainers) {
    if (goes_on) {
      parts_.outlet.send_to(drainer, MakeCopy{step, tables});
    } else {
      parts_.outlet.send_to(drainer, MakeCopy{step, DrainEnd{!has_failed}});
    }
  }
}

}  // namespace sluice::runtime
