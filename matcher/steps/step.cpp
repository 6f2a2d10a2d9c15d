#include "sluice/matcher/step.hpp"

#include <algorithm>

#include "log_segments.hpp"
#include "sluice/matcher/expect.hpp"

namespace sluice::matcher {

bool WriteLog::holds(const LogRange& range) const noexcept {
  return holds_range(data, range);
}

bool WriteLog::may_be_continued() const noexcept {
  return is_complete && !is_cut && contents->end.chunks == tables.size();
}

std::shared_ptr<WriteLog> WriteLog::continued() const {
  if (!tables.empty() && !tables.back()->restore()) return nullptr;
  if (!data.empty() && !data.back()->restore()) return nullptr;
  constexpr std::uint64_t alignment = 64;   // of log offsets, so that distances are the same in each step
  auto log = std::make_shared<WriteLog>();  // shared by the steps that continue one another
  log->tables = tables;
  log->data = data;
  log->earlier_data = data.size();
  const LogRanges& ranges = contents->ranges;
  log->contents.change() = {ranges, {}, contents->extent, {}};
  if (!burst_log->empty()) log->burst_log.change() = *burst_log;
  log->begin = log->published = contents->end;
  if (!ranges.empty()) log->first_offset = ranges.back().log_offset + ranges.back().length_bytes;
  log->first_offset = (log->first_offset + alignment - 1) / alignment * alignment;
  return log;
}

void WriteLog::trim(const LogRanges& all_ranges, const TablePosition& end_of_table) noexcept {
  if (end_of_table.chunks == 0) {
    if (begin.chunks == 0) std::ranges::for_each(tables, [](auto& segment) { segment->release(); });
    tables.clear();
  }
  trim_table(tables, end_of_table);
  const std::size_t unchanged = earlier_data == 0 ? 0 : earlier_data - 1;
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(unchanged);
  data.erase(trim_data(first, data.end(), all_ranges, ahead), data.end());
}

std::vector<std::shared_ptr<WriteLog>> new_logs(std::size_t processes) {
  // In pieces of this size, because there may be very many, and the system takes larger ones back.
  constexpr std::size_t most_in_piece = 64;
  std::vector<std::shared_ptr<WriteLog>> logs;
  logs.reserve(processes);
  for (std::size_t done = 0; done < processes; done += most_in_piece) {
    // Shared by the steps that continue this one.
    const auto piece = std::make_shared<std::vector<WriteLog>>(std::min(processes - done, most_in_piece));
    for (WriteLog& log : *piece) logs.emplace_back(piece, &log);
  }
  return logs;
}

void BytesByMedium::add(SegmentId segment, std::uint64_t bytes) {
  Sum& sum = sums_[static_cast<std::size_t>(medium_of(segment))];
  const std::uint32_t node = node_of(segment);
  if (sum.last == sum.bytes.end() || sum.last->first != node) sum.last = sum.bytes.try_emplace(node).first;
  sum.last->second += bytes;
}

void WriteLog::add_bytes(BytesByMedium& sums) const {
  for (const SharedSegment& segment : tables) sums.add(*segment);
  for (const SharedSegment& segment : data) sums.add(*segment);
}

void WriteLog::fill(LogView& view) const {
  for (const SharedSegment& segment : tables) view.tables.push_back({segment->id(), segment->bytes()});
  for (const SharedSegment& segment : data) view.data.push_back({segment->id(), segment->bytes()});
  view.ranges = contents->ranges;
  view.published = published;
  view.is_complete = is_complete;
  view.is_cut = is_cut;
  view.begin = begin;
  view.first_offset = first_offset;
  view.extent = contents->extent;
}

BytesByMedium Step::bytes_by_medium() const {
  BytesByMedium sums;
  for (const auto& log : logs) log->add_bytes(sums);
  if (packed) packed->add_bytes(sums);
  for (const SegmentLease& segment : inbound_parts) sums.add(segment);
  for (const auto& [node, image] : images) {
    if (!image.file.empty()) sums.add(image.file);
  }
  return sums;
}

std::set<std::uint32_t> Step::table_nodes() const {
  std::set<std::uint32_t> nodes;
  for (const auto& log : logs) {
    for (const SharedSegment& table : log->tables) nodes.insert(node_of(table->id()));
  }
  if (packed) packed->add_table_nodes(nodes);
  return nodes;
}

bool Step::has_data_on(std::uint32_t node) const {
  const auto is_there = [&](const SegmentLease& segment) { return node_of(segment.id()) == node; };
  const auto is_shared_there = [&](const SharedSegment& segment) { return is_there(*segment); };
  const auto image = images.find(node);
  if (image != images.end() && !image->second.file.empty()) return true;
  if (packed && packed->has_data_on(node)) return true;
  return std::ranges::any_of(inbound_parts, is_there) || std::ranges::any_of(logs, [&](const auto& log) {
           return std::ranges::any_of(log->data, is_shared_there) ||
                  std::ranges::any_of(log->tables, is_shared_there);
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
  view.logs.reserve(logs.size());
  for (const auto& log : logs) log->fill(view.logs.emplace_back());
  if (packed) view.packed_logs = packed->view_list();
  view.pattern = pattern;
  view.publish_at = publish_at;
  view.partition = partition;
  view.is_cut = is_cut;
  view.is_apart = is_apart;
  if (!control.empty()) view.control = control.id();
  return view;
}

void Step::unpack() {
  if (!packed) return;
  const bool is_complete = packed->is_complete();
  logs = packed->unpack();
  packed.reset();
  if (!is_complete) return;
  for (const auto& log : logs) {
    log->published = log->contents->end;
    log->is_complete = true;
  }
}

void Step::expect_log(std::uint32_t rank) const noexcept {
  if (packed) return packed->expect(rank);
  if (const std::size_t log = first_own_log + rank; log < logs.size()) expect_value(logs[log].get());
}

void set_apart(Step& step) noexcept {
  const auto is_apart = [&](const LogPattern& log) {
    return !log.reaches_below_base && log.base_record == step.pattern.base_record;
  };
  if (step.packed) {
    step.is_apart = std::ranges::all_of(step.packed->patterns(), is_apart);
    return;
  }
  // For a log that was cut off, only its tables know the records.
  step.is_apart = std::ranges::none_of(step.logs, [](const auto& log) { return log->is_cut; });
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i)
    step.is_apart = step.is_apart && is_apart(step.logs[i]->contents->pattern);
}

void set_pattern(Step& step) {
  // The fingerprint of a log that was cut off is unknown.
  if (std::ranges::any_of(step.logs, [](const auto& log) { return log->is_cut; })) return;
  if (step.base != 0 && step.earlier.empty()) return;
  StepFingerprints fingerprints(step.structure);
  if (step.base != 0) fingerprints.begin_with(step.earlier, step.first_own_log);
  if (step.packed) {
    for (const LogPattern& pattern : step.packed->patterns()) fingerprints.add(pattern, 0);
  } else {
    for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i)
      fingerprints.add(step.logs[i]->contents->pattern, step.logs[i]->first_offset);
  }
  fingerprints.set(step.pattern, step.is_apart);
}

}  // namespace sluice::matcher
