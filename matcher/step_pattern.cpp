#include "sluice/matcher/step_pattern.hpp"

#include <algorithm>

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

void LogPatternBuilder::add(const Request& request) noexcept {
  const formats::HyperslabView& box = request.box;
  const bool has_records = request.has_records && !box.start.empty();
  requests_.add(std::int64_t{request.varid} * 4 + (request.is_fill ? 2 : 0) + (has_records ? 1 : 0),
                static_cast<std::int64_t>(request.log_offset));
  requests_.add(box, has_records ? pattern_.base_record : 0);
  if (!has_records || std::ranges::find(box.count, 0) != box.count.end()) return;
  const std::int64_t stride = box.stride.empty() ? 1 : box.stride[0];
  pattern_.records_end = std::max(pattern_.records_end, box.start[0] + (box.count[0] - 1) * stride + 1);
  pattern_.reaches_below_base = pattern_.reaches_below_base || box.start[0] < pattern_.base_record;
}

LogPattern LogPatternBuilder::pattern() const noexcept {
  LogPattern pattern = pattern_;
  pattern.requests = requests_.value();
  return pattern;
}

}  // namespace sluice::matcher
