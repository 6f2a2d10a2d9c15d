#include "sluice/matcher/step_pattern.hpp"

#include <algorithm>
#include <limits>

namespace sluice::matcher {

Fingerprint structure_of(const formats::Header& header) {
  FingerprintBuilder structure;
  for (int varid = 0; varid < static_cast<int>(header.variables().size()); ++varid) {
    structure.add(static_cast<std::int64_t>(header.variable(varid).type));
    auto shape = header.shape(varid);
    if (header.is_record_variable(varid)) shape[0] = -1;
    structure.add(shape);
  }
  return structure.value();
}

namespace {

void widen(boost::container::small_vector<IndexRange, 4>& ranges, const formats::HyperslabView& box) {
  const std::size_t dimensions = box.start.size();
  if (ranges.size() != dimensions) ranges.resize(dimensions, {std::numeric_limits<std::int64_t>::max(), 0});
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::int64_t start = box.start[d];
    const std::int64_t end = box.stride.empty() ? start + box.count[d] : box.end_of(static_cast<int>(d));
    ranges[d].first = std::min(ranges[d].first, start);
    ranges[d].end = std::max(ranges[d].end, end);
  }
}

}  // namespace

BoxesSummary summarize(std::span<const formats::HyperslabView> boxes, bool has_records) {
  BoxesSummary summary;
  const auto is_empty = [](const formats::HyperslabView& box) {
    return std::ranges::find(box.count, 0) != box.count.end();
  };
  if (has_records) {
    summary.lowest_record = std::numeric_limits<std::int64_t>::max();
    for (const formats::HyperslabView& box : boxes) {
      summary.lowest_record = std::min(summary.lowest_record, box.start[0]);
      if (!is_empty(box)) summary.records_end = std::max(summary.records_end, box.end_of(0));
    }
  }
  FingerprintBuilder fingerprint;
  for (const formats::HyperslabView& box : boxes) {
    fingerprint.add(box, summary.lowest_record);
    if (is_empty(box)) continue;
    summary.has_elements = true;
    widen(summary.ranges, box);
  }
  summary.boxes = fingerprint.value();
  return summary;
}

const BoxesSummary& BoxesSummaries::of(std::span<const formats::HyperslabView> boxes, bool has_records) {
  constexpr std::size_t most = 8;
  const auto is_it = [&](const Known& known) {
    return known.first == boxes.data() && known.boxes == boxes.size() && known.has_records == has_records;
  };
  const auto found = std::ranges::find_if(known_, is_it);
  if (found != known_.end()) return found->summary;
  if (known_.size() == most) known_.erase(known_.begin());
  return known_.emplace_back(Known{boxes.data(), boxes.size(), has_records, summarize(boxes, has_records)})
      .summary;
}

void LogPatternBuilder::add(const Request& request, const BoxesSummary& boxes) {
  if (boxes.has_elements) {
    extent_.add(request.varid, request.dimids, {boxes.ranges.data(), boxes.ranges.size()});
  }
  const std::int64_t base = request.has_records ? pattern_.base_record : 0;
  requests_.add(std::int64_t{request.varid} * 4 + (request.is_fill ? 2 : 0) + (request.has_records ? 1 : 0),
                static_cast<std::int64_t>(request.is_fill ? 0 : request.log_offset - first_offset_));
  requests_.add(boxes.boxes);
  requests_.add(boxes.lowest_record - base);
  if (boxes.records_end == 0) return;
  pattern_.records_end = std::max(pattern_.records_end, boxes.records_end);
  pattern_.reaches_below_base = pattern_.reaches_below_base || boxes.lowest_record < base;
}

LogPattern LogPatternBuilder::pattern() const {
  LogPattern pattern = pattern_;
  pattern.requests = requests_.value();
  return pattern;
}

StepFingerprints::StepFingerprints(const Fingerprint& structure) noexcept {
  whole_.add(structure);
  latest_.add(structure);
}

/// Plans count writers from the first own log. The same logs may be one step's own, or several steps'.
void StepFingerprints::begin_with(const Fingerprint& earlier, std::size_t first_own) noexcept {
  whole_.add(earlier);
  whole_.add(static_cast<std::uint64_t>(first_own));
}

void StepFingerprints::add(const LogPattern& log, std::uint64_t first_offset) noexcept {
  whole_.add(log.requests);
  whole_.add(log.base_record, static_cast<std::int64_t>(first_offset));
  latest_.add(log.requests);
}

void StepFingerprints::set(StepPattern& pattern, bool is_apart) const noexcept {
  pattern.whole = whole_.value();
  pattern.latest = is_apart ? latest_.value() : Fingerprint{};
}

}  // namespace sluice::matcher
