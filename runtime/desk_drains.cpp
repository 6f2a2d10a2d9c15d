// Who drains a step, and the stages of a drain by several matchers.
#include <algorithm>
#include <set>
#include <utility>

#include "held_requests.hpp"
#include "registry_desk.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

void RegistryDesk::order_drains() {
  for (const matcher::StepId id : std::exchange(drains_, {})) order_drain(registry_.step(id));
}

/// The first matcher of each node that has logs of the step; matcher 0 in any case.
std::vector<std::uint32_t> RegistryDesk::drainers_of(const matcher::Step& step) const {
  std::vector<std::uint32_t> drainers{0};
  std::set<std::uint32_t> nodes{environment_.nodes->place_of(0).node};
  for (const auto& log : step.logs) {
    if (log->tables.empty()) continue;
    const std::uint32_t node = matcher::node_of(log->tables.front()->id());
    if (nodes.insert(node).second) drainers.push_back(environment_.nodes->rank_of({node, 0}));
  }
  return drainers;
}

void RegistryDesk::order_drain(const matcher::Step& step) {
  drain_ = {SharedDrain::Stage::preparing, step.id, drainers_of(step), 0, {}, {}, {}};
  const auto drainers = drain_.drainers;  // one that ends at once changes that
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
    RelayItem item = item_to(drainer, RelayItemKind::drain);
    item.number = step.id;
    item.fields = encode(order);
    environment_.send(std::move(item));
    ++order.part;
  }
}

void RegistryDesk::take_drain_item(const RelayItem& item) {
  if (item.number != drain_.step) return;
  if (item.kind == RelayItemKind::drain_progress) {
    drain_.parts[item.matcher] = {item.bytes, item.wanted_bytes};
    matcher::DrainProgress all;
    for (const auto& [matcher, part] : drain_.parts) {
      all.done_bytes += part.done_bytes;
      all.total_bytes = std::max(all.total_bytes, part.total_bytes);
    }
    return registry_.note_drain(drain_.step, all);
  }
  if (item.kind == RelayItemKind::drain_ready) {
    auto tables = decode<DrainTables>(item.fields);
    std::ranges::move(tables.tables, std::back_inserter(drain_.tables.tables));
    if (!tables.partial.empty()) drain_.tables.partial = std::move(tables.partial);
  } else {
    const auto report = decode<DrainReport>(item.fields);
    drain_.outcome.bytes += report.bytes;
    if (report.status != NC_NOERR && drain_.outcome.status == NC_NOERR) {
      drain_.outcome.status = report.status;
      drain_.outcome.text = report.text;
    }
  }
  if (--drain_.missing == 0) go_on_with_drain();
}

/// All have told that they have done what they were asked to.
void RegistryDesk::go_on_with_drain() {
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
  std::vector<std::byte> fields;
  if (goes_on) fields = encode(std::exchange(drain_.tables, {}));
  const auto drainers = drain_.drainers;
  const matcher::StepId step = drain_.step;
  for (const std::uint32_t drainer : drainers) {
    RelayItem item = item_to(drainer, goes_on ? RelayItemKind::drain_part : RelayItemKind::drain_finish);
    item.number = step;
    item.bytes = has_failed ? 0 : 1;
    item.fields = fields;
    environment_.send(std::move(item));
  }
}

}  // namespace sluice::runtime
