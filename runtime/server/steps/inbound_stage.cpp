#include "inbound_stage.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// The copies of a plan, without the rest of it.
replay::Plan copies_of(const replay::Plan& plan, const std::vector<std::size_t>& copies,
                       std::uint32_t first_own_log) {
  replay::Plan some;
  for (const std::size_t i : copies) {
    replay::Copy copy = plan.copies[i];
    const auto dimensions = plan.dimensions_of(copy);
    copy.writer -= first_own_log;
    copy.first_dimension = static_cast<std::uint32_t>(some.dimensions.size());
    copy.destination = 0;
    for (const replay::CopyDimension& dimension : dimensions)
      some.dimensions.push_back({dimension.count, dimension.source_step_bytes, 0});
    some.copies.push_back(copy);
  }
  return some;
}

FetchSpecPointer wanted_part(replay::Plan copies, std::size_t element_bytes, bool is_mirrored) {
  auto wanted = std::make_shared<FetchSpec>();
  matcher::FingerprintBuilder builder;
  builder.add(std::uint64_t{element_bytes} * 2 + (is_mirrored ? 1 : 0));
  for (const replay::Copy& copy : copies.copies) {
    builder.add(std::uint64_t{copy.writer});
    builder.add(copy.log_offset);
    for (const replay::CopyDimension& dimension : copies.dimensions_of(copy)) {
      builder.add(dimension.count);
      builder.add(dimension.source_step_bytes);
    }
    builder.add(std::uint64_t{copy.dimensions});
    wanted->bytes += replay::packed_bytes(copies, copy, element_bytes);
  }
  wanted->fingerprint = builder.value();
  wanted->is_mirrored = is_mirrored;
  wanted->element_bytes = static_cast<std::uint32_t>(element_bytes);
  wanted->copies = std::move(copies);
  return wanted;
}

/// Bytes [first, end) of a log. The log is the `writer`th from the step's first own log.
FetchSpecPointer wanted_range(std::uint32_t writer, const replay::SourceRange& range) {
  replay::Plan copies;
  copies.copies.push_back({.writer = writer, .dimensions = 1, .log_offset = range.first});
  copies.dimensions.push_back({static_cast<std::int64_t>(range.end - range.first), 1, 0});
  return wanted_part(std::move(copies), 1, true);
}

/// Whether the plan is one copy of contiguous bytes.
bool is_range(const replay::Plan& copies, std::uint32_t element_bytes) {
  if (copies.copies.size() != 1 || element_bytes != 1) return false;
  const replay::Copy& copy = copies.copies.front();
  const auto dimensions = copies.dimensions_of(copy);
  return dimensions.size() == 1 && dimensions[0].source_step_bytes == 1 && dimensions[0].count > 0 &&
         copy.log_offset <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) -
                                static_cast<std::uint64_t>(dimensions[0].count);
}

}  // namespace

FetchSpecPointer checked_wanted_part(replay::Plan copies, std::uint32_t element_bytes, bool is_mirrored) {
  const bool has_fill = std::ranges::any_of(copies.copies, &replay::Copy::is_fill);
  if (copies.copies.empty() || element_bytes == 0 || has_fill ||
      (is_mirrored && !is_range(copies, element_bytes))) {
    throw Error(NC_EIO, "malformed fetch request from another matcher: no copies, or fill copies");
  }
  return wanted_part(std::move(copies), element_bytes, is_mirrored);
}

InboundPart* InboundStage::find(PartId id) noexcept {
  const auto found = parts_.find(id);
  return found == parts_.end() ? nullptr : &found->second;
}

void InboundStage::add(replay::Plan& plan, std::size_t element_bytes, const SourceOf& source_of,
                       PartIds& needed) {
  std::map<matcher::MatcherPlace, std::vector<std::size_t>> small;  // by source
  std::vector<std::size_t> own;
  bool is_changed = false;
  const std::size_t copies = plan.copies.size();
  for (std::size_t i = 0; i < copies; ++i) {
    const replay::Copy copy = plan.copies[i];
    if (copy.is_fill) continue;
    const std::optional<matcher::MatcherPlace> source = source_of(copy.writer);
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

bool InboundStage::is_mirrored(std::uint32_t writer, const replay::SourceRange& range) const noexcept {
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

/// Makes new parts for the bytes of a range that are not mirrored yet.
void InboundStage::mirror(std::uint32_t writer, matcher::MatcherPlace source,
                          const replay::SourceRange& range, PartIds& needed) {
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
  for (replay::SourceRange gap : gaps) {
    while (gap.first < gap.end) {
      // Cut between elements: log offsets of elements are multiples of their size.
      const std::uint64_t cut = (gap.first + most_part_bytes) / most_part_bytes * most_part_bytes;
      const replay::SourceRange part{gap.first, std::min(gap.end, cut)};
      const PartId id = make(source, wanted_range(writer - first_own_log_, part));
      mirrored_[writer][part.first] = {part.end, id};
      needed.insert(id);
      gap.first = part.end;
    }
  }
}

/// A source has one node_fetcher on each node, so that matchers have few partners. Large data is divided
/// among the matchers.
std::uint32_t InboundStage::node_fetcher_of(matcher::MatcherPlace source, const FetchSpec& wanted) const {
  std::uint64_t which = std::uint64_t{source.node} + source.index;
  if (wanted.is_mirrored) {
    which += wanted.copies.copies.front().log_offset / most_part_bytes;  // parts are cut at these offsets
  } else if (wanted.bytes >= least_spread_bytes) {
    which += wanted.fingerprint.low % matchers_;
  }
  return static_cast<std::uint32_t>(which % matchers_);
}

InboundStage::PartId InboundStage::make(matcher::MatcherPlace source, FetchSpecPointer wanted) {
  const PartId id = next_part_++;
  InboundPart& part = parts_[id];
  part.source = source;
  part.node_fetcher = node_fetcher_of(source, *wanted);
  matcher::LogRange& range = part.ranges.emplace_back();
  range.length_bytes = wanted->bytes;
  if (wanted->is_mirrored) {
    range.writer = wanted->writer() + first_own_log_;
    range.log_offset = wanted->copies.copies.front().log_offset;
  } else {
    // 30 and 55 bits of the fingerprint select the log and the position in it: two bundles do not meet there.
    constexpr std::uint64_t log_mask = first_inbound_log - 1;
    constexpr std::uint64_t offset_mask = (std::uint64_t{1} << 61) - 64;
    range.writer =
        first_inbound_log + static_cast<std::uint32_t>(wanted->fingerprint.low & log_mask) + first_own_log_;
    range.log_offset = wanted->fingerprint.high & offset_mask;
  }
  part.wanted = std::move(wanted);
  return id;
}

InboundStage::PartId InboundStage::bundle_of(matcher::MatcherPlace source, const FetchSpecPointer& wanted) {
  PartId& known = bundles_[wanted->fingerprint];
  if (known == 0) known = make(source, wanted);
  return known;
}

void InboundStage::bundle(replay::Plan& plan, std::size_t element_bytes, matcher::MatcherPlace source,
                          const std::vector<std::size_t>& copies, PartIds& needed) {
  const FetchSpecPointer wanted = wanted_part(copies_of(plan, copies, first_own_log_), element_bytes, false);
  const PartId id = bundle_of(source, wanted);
  needed.insert(id);
  const matcher::LogRange& range = parts_.at(id).ranges.front();
  std::uint64_t offset = range.log_offset;
  replay::Redirection redirection(element_bytes);
  for (const std::size_t i : copies) {
    const std::uint64_t bytes = replay::packed_bytes(plan, plan.copies[i], element_bytes);
    redirection.redirect(plan, i, range.writer, offset);
    offset += bytes;
  }
}

void InboundStage::add(const FetchSpecPointer& wanted, const SourceOf& source_of, PartIds& needed) {
  std::optional<matcher::MatcherPlace> source;
  for (const replay::Copy& copy : wanted->copies.copies) {
    const std::optional<matcher::MatcherPlace> found = source_of(copy.writer + first_own_log_);
    if (!found || (source && *source != *found)) return;
    source = found;
  }
  if (!source) return;
  if (!wanted->is_mirrored) {
    needed.insert(bundle_of(*source, wanted));
    return;
  }
  const std::uint64_t first = wanted->copies.copies.front().log_offset;
  mirror(wanted->writer() + first_own_log_, *source, {first, first + wanted->bytes}, needed);
}

void InboundStage::find_landed(const FetchSpec& wanted, PartIds& found) const {
  const auto add_landed = [&](PartId id) {
    if (parts_.at(id).has_landed) found.insert(id);
  };
  if (!wanted.is_mirrored) {
    if (const auto known = bundles_.find(wanted.fingerprint); known != bundles_.end())
      add_landed(known->second);
    return;
  }
  const auto log = mirrored_.find(wanted.writer() + first_own_log_);
  if (log == mirrored_.end()) return;
  const std::uint64_t first = wanted.copies.copies.front().log_offset;
  auto next = log->second.upper_bound(first);
  if (next != log->second.begin() && std::prev(next)->second.end > first) --next;
  for (; next != log->second.end() && next->first < first + wanted.bytes; ++next)
    add_landed(next->second.part);
}

std::vector<matcher::LogRange> InboundStage::places_of(const FetchSpec& wanted) const {
  PartIds found;
  find_landed(wanted, found);
  std::vector<matcher::LogRange> all;
  for (const PartId id : found) {
    const std::vector<matcher::LogRange>& ranges = parts_.at(id).ranges;
    all.insert(all.end(), ranges.begin(), ranges.end());
  }
  if (!wanted.is_mirrored) return all;
  std::ranges::sort(all, {}, &matcher::LogRange::log_offset);
  std::vector<matcher::LogRange> places;
  std::uint64_t position = wanted.copies.copies.front().log_offset;
  const std::uint64_t end = position + wanted.bytes;
  for (matcher::LogRange place : all) {  // leave out data around the range
    if (place.log_offset + place.length_bytes <= position || place.log_offset >= end) continue;
    if (place.log_offset > position) return {};
    const std::uint64_t skipped = position - place.log_offset;
    place.log_offset = position;
    place.segment_offset += skipped;
    place.length_bytes = std::min(place.length_bytes - skipped, end - position);
    position += place.length_bytes;
    places.push_back(place);
  }
  if (position < end) return {};
  return places;
}

bool InboundStage::note_places(PartId id, std::vector<matcher::LogRange> places) {
  InboundPart& part = parts_.at(id);
  matcher::LogRange rest = part.ranges.front();
  rest.length_bytes = part.wanted->bytes;
  for (const matcher::LogRange& place : places) {
    if (place.writer != rest.writer || place.log_offset != rest.log_offset || place.length_bytes == 0 ||
        place.length_bytes > rest.length_bytes) {
      return false;
    }
    rest.log_offset += place.length_bytes;
    rest.length_bytes -= place.length_bytes;
  }
  if (rest.length_bytes != 0) return false;
  part.ranges = std::move(places);
  return true;
}

void InboundStage::drop(PartId id) {
  const auto part = parts_.extract(id);
  if (part.empty()) return;
  const matcher::LogRange& range = part.mapped().ranges.front();
  if (const auto writer = mirrored_.find(range.writer); writer != mirrored_.end()) {
    writer->second.erase(range.log_offset);
  }
  std::erase_if(bundles_, [&](const auto& entry) { return entry.second == id; });
}

std::vector<InboundPart> InboundStage::parts(const PartIds& needed) const {
  std::vector<InboundPart> parts;
  for (const PartId id : needed) {
    if (const auto part = parts_.find(id); part != parts_.end()) parts.push_back(part->second);
  }
  return parts;
}

}  // namespace sluice::runtime
