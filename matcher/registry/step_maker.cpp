#include "step_maker.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "registry_parts.hpp"

namespace sluice::matcher {

namespace {

/// What others see of a log before its close is not packed. Who opens a step gets a view of it at once.
bool has_packed_logs(RegistryParts& parts, const Step& step, const Group& group) {
  const auto& [packing, least_logs] = parts.packing;
  return packing != nullptr && group.member.size >= least_logs && group.purpose == Purpose::create &&
         step.publish_at == PublishAt::close && step.base == 0 &&
         parts.rules.of(step.key).through != Through::burst_buffer;
}

void add_own_logs(RegistryParts& parts, Step& step, const Group& group) {
  step.first_own_log = step.logs.size();
  if (has_packed_logs(parts, step, group)) {
    step.packed.emplace(*parts.packing.packing, group.member.size);
    return;
  }
  auto added = new_logs(group.member.size);
  if (step.publish_at == PublishAt::sync)
    for (const auto& log : added) log->published = {0, 0};
  if (step.logs.empty()) {
    step.logs = std::move(added);
  } else {
    std::ranges::move(added, std::back_inserter(step.logs));
  }
}

Step& add_step(RegistryParts& parts, std::unique_ptr<Step> step, Group& group, const Step* base) {
  step->key = group.key;
  step->name = parts.names.of(group.key);
  step->publish_at = parts.rules.of(group.key).publish_at;
  step->partition = parts.rules.of(group.key).partition;
  step->read_by.resize(parts.rules.of(group.key).readers.size());
  step->goes_to_disk =
      parts.rules.of(group.key).when_full == WhenFull::spill && parts.sequences.is_full(group.key);
  step->writers = &group;
  step->is_new = group.purpose == Purpose::create && !group.is_import && !group.goes_on;
  step->writer_restarts = group.component->restarts;
  if (base == nullptr) parts.retention.note_made(*step, *group.component);
  if (!step->is_continued) add_own_logs(parts, *step, group);
  step->pattern.first_writer = static_cast<std::uint32_t>(step->first_own_log);
  Step& made = parts.datasets.add(std::move(step));
  parts.retention.add(made);
  return made;
}

/// The processes that wrote the base continue their logs, so a step that adds a record takes memory for that
/// record only.
void continue_logs(RegistryParts& parts, Step& step, const Step& base, const Group& group) {
  if (group.continues != base.id || base.is_cut || group.member.size != base.logs.size() - base.first_own_log)
    return;
  std::vector<std::shared_ptr<WriteLog>> logs;
  for (std::size_t i = base.first_own_log; i < base.logs.size(); ++i) {
    if (!base.logs[i]->may_be_continued()) return;
    auto log = base.logs[i]->continued();
    if (log == nullptr) return;
    if (parts.rules.of(base.key).publish_at != PublishAt::sync) log->published = {};
    logs.push_back(std::move(log));
  }
  std::ranges::move(logs, step.logs.begin() + static_cast<std::ptrdiff_t>(base.first_own_log));
  step.first_own_log = base.first_own_log;
  step.is_continued = true;
}

}  // namespace

Step* make_step(RegistryParts& parts, Group& group, Step* base) {
  auto step = std::make_unique<Step>();
  step->version = group.version;
  step->is_in_files = parts.rules.is_in_files(group.key) || group.is_in_place;
  step->path = group.path;
  if (base != nullptr && !step->is_in_files) {  // first: the base may lose its memory below
    base->unpack();
    parts.retention.note_continued(group.key.rule);
    step->version = base->version;
    step->path = base->path;
    step->origin = base->origin;
    step->base = base->id;
    step->earlier = base->pattern.whole;
    step->record_count = base->record_count;
    step->pattern.base_record = base->record_count;
    step->header = base->header;
    step->header_revision = ++step->revision;
    step->structure = base->structure;
    step->logs = base->logs;
    continue_logs(parts, *step, *base, group);
    for (const auto& log : base->logs)
      step->pattern.last_put = std::max(step->pattern.last_put, log->contents->pattern.last_put);
  }
  if (!group.member.spans_nodes && !step->is_in_files) {
    const Process& first = parts.processes.at(group.members.begin()->second.process);
    const SegmentPool::Request request{control_bytes(group.member.size), SegmentUse::control, first.id,
                                       first.place.index};
    auto control = parts.memory.take_at_any_cost(first.place, request);
    if (!control) return nullptr;
    step->control = std::move(*control);
  }
  Step& made = add_step(parts, std::move(step), group, base);
  parts.reads.hide(made.key.rule, made.id, [&](StepId other) {
    const Step* const known = parts.datasets.find_step(other);
    return known == nullptr || known->key == made.key;
  });
  return &made;
}

Step& make_step(RegistryParts& parts, Group& group, StepOffer offer) {
  auto step = std::make_unique<Step>();
  step->id = offer.step;
  step->version = group.version;
  step->path = group.path;
  step->control = std::move(offer.control);
  Step& made = add_step(parts, std::move(step), group, nullptr);
  for (std::size_t rank = 0; rank < offer.logs.size(); ++rank) {
    WriteLog& log = *made.logs[rank];
    StepOffer::Log& offered = offer.logs[rank];
    if (!offered.table.empty())
      log.tables.push_back(std::make_shared<SegmentLease>(std::move(offered.table)));
    if (offered.data.empty()) continue;
    log.data.push_back(std::make_shared<SegmentLease>(std::move(offered.data)));
    log.ahead = log.data.back()->id();
  }
  return made;
}

Step& restore_step(RegistryParts& parts, const FormerStep& former) {
  const FileRule& rule = parts.rules.of(former.key);
  auto step = std::make_unique<Step>();
  step->key = former.key;
  step->name = parts.names.of(former.key);
  step->version = former.version;
  step->path = former.path;
  step->file = former.file;
  step->is_in_files = true;
  step->number = former.number;
  step->number_in_rule = former.number_in_rule;
  step->read_by.resize(rule.readers.size());
  for (std::size_t i = 0; i < rule.readers.size(); ++i) {
    const bool has_read = former.readers.contains(rule.readers[i]);
    step->read_by[i].is_passed = step->read_by[i].is_taken = has_read;
  }
  Step& made = parts.datasets.add(std::move(step));
  parts.retention.add(made);
  return made;
}

}  // namespace sluice::matcher
