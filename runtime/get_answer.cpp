#include "get_answer.hpp"

#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::runtime {

namespace {

/// The last byte of the log that the copy reads.
std::uint64_t last_byte(const replay::Plan& plan, const replay::Copy& copy,
                        std::size_t element_bytes) noexcept {
  std::uint64_t last = copy.log_offset + element_bytes - 1;
  for (std::size_t d = 0; d < copy.dimensions; ++d) {
    const replay::CopyDimension& dimension = plan.dimensions[copy.first_dimension + d];
    if (dimension.count > 1) {
      last += static_cast<std::uint64_t>(dimension.count - 1) *
              static_cast<std::uint64_t>(dimension.source_step_bytes);
    }
  }
  return last;
}

}  // namespace

void ToldRanges::tell(const matcher::StepIndex& index, const replay::Plan& plan, std::size_t element_bytes,
                      std::vector<LogRange>& news) {
  const LogRange* current = nullptr;  // neighbouring copies mostly use the same range
  for (const replay::Copy& copy : plan.copies) {
    if (copy.is_fill) continue;
    const std::uint64_t last = last_byte(plan, copy, element_bytes);
    if (current != nullptr && current->writer == copy.writer && copy.log_offset >= current->log_offset &&
        last - current->log_offset < current->length_bytes) {
      continue;
    }
    const auto ranges = index.ranges(copy.writer);
    auto& told = writers_[copy.writer].told_bytes;
    told.resize(ranges.size());
    auto range =
        std::upper_bound(ranges.begin(), ranges.end(), copy.log_offset,
                         [](std::uint64_t offset, const LogRange& r) { return offset < r.log_offset; });
    if (range == ranges.begin()) continue;  // nowhere: the client finds that out and fails
    for (--range; range != ranges.end() && range->log_offset <= last; ++range) {
      std::uint64_t& told_bytes = told[static_cast<std::size_t>(range - ranges.begin())];
      if (told_bytes != range->length_bytes) news.push_back(*range);
      told_bytes = range->length_bytes;
      current = &*range;
    }
  }
}

Plans answer_get(matcher::StepIndex& index, const Get& request, ToldRanges& told) {
  Plans answer;
  std::vector<matcher::Piece> pieces;
  for (const ReadAccess& access : request.accesses) {
    const std::size_t element_bytes = index.element_bytes(access.varid);
    replay::PlanBuilder builder(element_bytes);
    std::int64_t elements = 0;
    for (const ReadSlab& slab : access.slabs) {
      const formats::HyperslabView read{slab.start, slab.count, slab.stride};
      if (!matcher::is_sound(read) || (elements += read.elements()) > matcher::max_elements) {
        throw Error(NC_EIO, "a get of variable " + std::to_string(access.varid) +
                                " asks for an impossible hyperslab");
      }
      if (read.elements() == 0) continue;
      pieces.clear();
      const bool is_covered = index.match(access.varid, read, pieces);
      builder.add(read, pieces, is_covered);
    }
    const replay::Plan plan = builder.take();
    told.tell(index, plan, element_bytes, answer.ranges);
    replay::encode(plan, answer.plans);
  }
  return answer;
}

}  // namespace sluice::runtime
