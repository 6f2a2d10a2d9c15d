#include "landing.hpp"

#include <algorithm>
#include <utility>

namespace sluice::runtime {

namespace {

/// The copies of a plan, and nothing else of it; writers stay as they are.
replay::Plan copies_of(const replay::Plan& plan, const std::vector<std::size_t>& copies) {
  replay::Plan some;
  for (const std::size_t i : copies) {
    replay::Copy copy = plan.copies[i];
    const auto dimensions = plan.dimensions_of(copy);
    copy.first_dimension = static_cast<std::uint32_t>(some.dimensions.size());
    copy.destination = 0;
    for (const replay::CopyDimension& dimension : dimensions)
      some.dimensions.push_back({dimension.count, dimension.source_step_bytes, 0});
    some.copies.push_back(copy);
  }
  return some;
}

matcher::Fingerprint fingerprint_of(const replay::Plan& copies, std::size_t element_bytes,
                                    std::uint32_t first_own_log) {
  matcher::FingerprintBuilder builder;
  builder.add(static_cast<std::uint64_t>(element_bytes));
  for (const replay::Copy& copy : copies.copies) {
    builder.add(static_cast<std::uint64_t>(copy.writer - first_own_log));
    builder.add(copy.log_offset);
    for (const replay::CopyDimension& dimension : copies.dimensions_of(copy)) {
      builder.add(dimension.count);
      builder.add(dimension.source_step_bytes);
    }
    builder.add(static_cast<std::uint64_t>(copy.dimensions));
  }
  return builder.value();
}

}  // namespace

LandingPart* Landing::find(PartId id) noexcept {
  const auto found = parts_.find(id);
  return found == parts_.end() ? nullptr : &found->second;
}

void Landing::add(replay::Plan& plan, std::size_t element_bytes, const SourceOf& source_of, PartIds& needed) {
  std::map<std::uint32_t, std::vector<std::size_t>> small;  // by source
  std::vector<std::size_t> own;
  bool is_changed = false;
  const std::size_t copies = plan.copies.size();
  for (std::size_t i = 0; i < copies; ++i) {
    const replay::Copy copy = plan.copies[i];
    if (copy.is_fill) continue;
    const std::optional<std::uint32_t> source = source_of(copy.writer);
    if (!source) continue;
    const replay::SourceRange dense = replay::dense_source(plan, copy, element_bytes);
    const std::uint64_t dense_bytes = dense.end - dense.first;
    if (dense_bytes >= least_mirrored_bytes || (dense_bytes > 0 && is_mirrored(copy.writer, dense))) {
      mirror(copy.writer, *source, dense, needed);
    } else if (replay::packed_bytes(plan, copy, element_bytes) >= least_own_bundle_bytes) {
      bundle(plan, element_bytes, *source, {i}, needed);
      is_changed = true;
    } else {
      small[*source].push_back(i);
    }
  }
  for (const auto& [source, list] : small) bundle(plan, element_bytes, source, list, needed);
  if (is_changed || !small.empty()) plan = replay::Redirection::simplify(std::move(plan));
}

bool Landing::is_mirrored(std::uint32_t writer, const replay::SourceRange& range) const noexcept {
  const auto known = mirrored_.find(writer);
  if (known == mirrored_.end()) return false;
  auto next = known->second.upper_bound(range.first);
  if (next == known->second.begin()) return false;
  std::uint64_t position = range.first;
  for (--next; next != known->second.end() && next->first <= position; ++next) {
    position = std::max(position, next->second.end);
    if (position >= range.end) return true;
  }
  return false;
}

/// What is not mirrored yet of a range becomes new parts.
void Landing::mirror(std::uint32_t writer, std::uint32_t source, const replay::SourceRange& range,
                     PartIds& needed) {
  const auto& known = mirrored_[writer];
  std::vector<replay::SourceRange> gaps;
  auto next = known.upper_bound(range.first);
  if (next != known.begin() && std::prev(next)->second.end > range.first) --next;
  std::uint64_t position = range.first;
  for (; next != known.end() && next->first < range.end; ++next) {
    if (next->first > position) gaps.push_back({position, next->first});
    needed.insert(next->second.part);
    position = next->second.end;
  }
  if (position < range.end) gaps.push_back({position, range.end});
  for (const replay::SourceRange& gap : gaps) mirror_new(writer, source, gap, needed);
}

void Landing::mirror_new(std::uint32_t writer, std::uint32_t source, const replay::SourceRange& range,
                         PartIds& needed) {
  for (std::uint64_t first = range.first; first < range.end;) {
    // Cut where no element is: log offsets of elements are multiples of their size.
    const std::uint64_t cut = (first + most_part_bytes) / most_part_bytes * most_part_bytes;
    const std::uint64_t end = std::min(range.end, cut);
    LandingPart part;
    part.source = source;
    part.copies.copies.push_back({.writer = writer, .dimensions = 1, .log_offset = first});
    part.copies.dimensions.push_back({static_cast<std::int64_t>(end - first), 1, 0});
    part.range = {writer, first, end - first, 0, 0};
    const PartId id = next_part_++;
    parts_.emplace(id, std::move(part));
    mirrored_[writer][first] = {end, id};
    needed.insert(id);
    first = end;
  }
}

void Landing::bundle(replay::Plan& plan, std::size_t element_bytes, std::uint32_t source,
                     const std::vector<std::size_t>& copies, PartIds& needed) {
  replay::Plan some = copies_of(plan, copies);
  const matcher::Fingerprint fingerprint = fingerprint_of(some, element_bytes, first_own_log_);
  auto& known = bundles_[fingerprint];
  if (known == 0) {
    // 30 and 55 bits of the fingerprint say which log and where in it: no two bundles meet there.
    constexpr std::uint64_t log_mask = first_landing_log - 1;
    constexpr std::uint64_t offset_mask = (std::uint64_t{1} << 61) - 64;
    LandingPart part;
    part.source = source;
    part.element_bytes = static_cast<std::uint32_t>(element_bytes);
    part.range.writer =
        first_landing_log + static_cast<std::uint32_t>(fingerprint.low & log_mask) + first_own_log_;
    part.range.log_offset = fingerprint.high & offset_mask;
    for (const replay::Copy& copy : some.copies)
      part.range.length_bytes += replay::packed_bytes(some, copy, element_bytes);
    part.copies = std::move(some);
    known = next_part_++;
    parts_.emplace(known, std::move(part));
  }
  needed.insert(known);
  const matcher::LogRange& range = parts_.at(known).range;
  std::uint64_t offset = range.log_offset;
  replay::Redirection redirection(element_bytes);
  for (const std::size_t i : copies) {
    const std::uint64_t bytes = replay::packed_bytes(plan, plan.copies[i], element_bytes);
    redirection.redirect(plan, i, range.writer, offset);
    offset += bytes;
  }
}

void Landing::drop(PartId id) {
  const auto part = parts_.extract(id);
  if (part.empty()) return;
  const matcher::LogRange& range = part.mapped().range;
  if (const auto writer = mirrored_.find(range.writer); writer != mirrored_.end()) {
    writer->second.erase(range.log_offset);
  }
  std::erase_if(bundles_, [&](const auto& entry) { return entry.second == id; });
}

std::vector<matcher::LogRange> Landing::ranges(const PartIds& needed) const {
  std::vector<matcher::LogRange> ranges;
  for (const PartId id : needed) {
    if (const auto part = parts_.find(id); part != parts_.end()) ranges.push_back(part->second.range);
  }
  return ranges;
}

}  // namespace sluice::runtime
