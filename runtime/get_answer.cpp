#include "get_answer.hpp"

#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::runtime {

void ToldRanges::tell_landed(const LogRange& landed, std::vector<LogRange>& news) {
  if (landed_.emplace(landed.writer, landed.log_offset).second) news.push_back(landed);
}

void ToldRanges::tell(const RangesOf& ranges_of, const replay::Plan& plan, std::size_t element_bytes,
                      std::vector<LogRange>& news) {
  const LogRange* current = nullptr;  // neighbouring copies mostly use the same range
  for (const replay::Copy& copy : plan.copies) {
    if (copy.is_fill) continue;
    const auto [first, end] = replay::source_range(plan, copy, element_bytes);
    if (current != nullptr && current->writer == copy.writer && first >= current->log_offset &&
        end - current->log_offset <= current->length_bytes) {
      continue;
    }
    const auto ranges = ranges_of(copy.writer);
    if (ranges.empty()) continue;
    auto& told = writers_[copy.writer].told_bytes;
    told.resize(ranges.size());
    auto range =
        std::upper_bound(ranges.begin(), ranges.end(), first,
                         [](std::uint64_t offset, const LogRange& r) { return offset < r.log_offset; });
    if (range == ranges.begin()) continue;  // nowhere: the client finds that out and fails
    for (--range; range != ranges.end() && range->log_offset < end; ++range) {
      std::uint64_t& told_bytes = told[static_cast<std::size_t>(range - ranges.begin())];
      if (told_bytes != range->length_bytes) news.push_back(*range);
      told_bytes = range->length_bytes;
      current = &*range;
    }
  }
}

int unwritten_variable(matcher::StepIndex& index, const Get& request) {
  const matcher::PieceSink ignore = [](const matcher::Piece&) {};
  for (const ReadAccess& access : request.accesses) {
    matcher::WriteIndex& writes = index.writes(access.varid);
    for (const ReadSlab& slab : access.slabs) {
      if (!writes.match({slab.start, slab.count, slab.stride}, ignore).is_covered) return access.varid;
    }
  }
  return -1;
}

Plans answer_get(matcher::StepIndex& index, const Get& request, ToldRanges& told) {
  Plans answer;
  std::vector<formats::HyperslabView> reads;
  for (const ReadAccess& access : request.accesses) {
    const std::size_t element_bytes = index.element_bytes(access.varid);
    reads.clear();
    for (const ReadSlab& slab : access.slabs) reads.push_back({slab.start, slab.count, slab.stride});
    replay::PlanBuilder builder(element_bytes);
    builder.add(reads, index.writes(access.varid));
    const replay::Plan plan = builder.take();
    told.tell([&](std::uint32_t writer) { return index.ranges(writer); }, plan, element_bytes, answer.ranges);
    replay::encode(plan, answer.plans);
  }
  return answer;
}

}  // namespace sluice::runtime
