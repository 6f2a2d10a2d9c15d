#include "sluice/matcher/step.hpp"

#include <algorithm>

#include "range_bounds.hpp"

namespace sluice::matcher {

namespace {

void add(const std::vector<SegmentLease>& segments, Medium medium, NodeBytes& bytes) {
  for (const SegmentLease& segment : segments) {
    if (medium_of(segment.id()) == medium) bytes[node_of(segment.id())] += segment.charged_bytes();
  }
}

}  // namespace

bool WriteLog::holds(const LogRange& range) const noexcept {
  const auto owned = std::find_if(data.rbegin(), data.rend(),
                                  [&](const SegmentLease& segment) { return segment.id() == range.segment; });
  return owned != data.rend() && lies_within(range, owned->bytes());
}

void WriteLog::trim() noexcept {
  std::erase_if(data, [&](SegmentLease& segment) {
    std::uint64_t used = 0;
    for (const LogRange& range : ranges)
      if (range.segment == segment.id()) used = std::max(used, range.segment_offset + range.length_bytes);
    if (used > 0) segment.trim(used);
    return used == 0 && segment.id() == ahead;
  });
}

void WriteLog::add_bytes(Medium medium, NodeBytes& bytes) const {
  add(tables, medium, bytes);
  add(data, medium, bytes);
}

LogView WriteLog::view() const {
  LogView view;
  for (const SegmentLease& segment : tables) view.tables.push_back({segment.id(), segment.bytes()});
  for (const SegmentLease& segment : data) view.data.push_back({segment.id(), segment.bytes()});
  view.ranges = ranges;
  view.published = published;
  view.is_cut = is_cut;
  view.extent = pattern.extent;
  return view;
}

NodeBytes Step::bytes_in(Medium medium) const {
  NodeBytes bytes;
  for (const auto& log : logs) log->add_bytes(medium, bytes);
  add(landings, medium, bytes);
  return bytes;
}

bool Step::has_data_on(std::uint32_t node) const {
  const auto is_there = [&](const SegmentLease& segment) { return node_of(segment.id()) == node; };
  return std::ranges::any_of(landings, is_there) || std::ranges::any_of(logs, [&](const auto& log) {
           return std::ranges::any_of(log->data, is_there) || std::ranges::any_of(log->tables, is_there);
         });
}

StepView Step::view() const {
  StepView view;
  view.step = id;
  view.revision = revision;
  view.is_final = state == StepState::published;
  view.rule = key.rule;
  view.name = name;
  view.header_revision = header_revision;
  view.record_count = records_for_readers();
  view.header = header;
  view.first_own_log = first_own_log;
  for (const auto& log : logs) view.logs.push_back(log->view());
  view.pattern = pattern;
  view.publish_at = publish_at;
  view.partition = partition;
  view.is_cut = is_cut;
  if (!control.empty()) view.control = control.id();
  return view;
}

void set_pattern(Step& step) noexcept {
  // Of a log that was cut off the fingerprint is not known.
  if (std::ranges::any_of(step.logs, [](const auto& log) { return log->is_cut; })) return;
  FingerprintBuilder whole;
  FingerprintBuilder latest;
  bool is_apart = true;
  whole.add(step.structure);
  latest.add(step.structure);
  // Plans count writers from the first own log. The same logs may be one step's own, or several steps'.
  whole.add(static_cast<std::uint64_t>(step.first_own_log));
  for (std::size_t i = 0; i < step.logs.size(); ++i) {
    const LogPattern& log = step.logs[i]->pattern;
    whole.add(log.requests);
    whole.add(log.base_record);
    if (i < step.first_own_log) continue;
    latest.add(log.requests);
    is_apart = is_apart && !log.reaches_below_base && log.base_record == step.pattern.base_record;
  }
  step.pattern.whole = whole.value();
  step.pattern.latest = is_apart ? latest.value() : Fingerprint{};
}

}  // namespace sluice::matcher
