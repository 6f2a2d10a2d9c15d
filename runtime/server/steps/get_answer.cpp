#include "get_answer.hpp"

#include <algorithm>
#include <compare>
#include <map>

#include "sluice/runtime/read_lists.hpp"

namespace sluice::runtime {

void AnnouncedRanges::tell_landed(const LogRange& landed, std::vector<LogRange>& news) {
  if (landed_.emplace(landed.writer, landed.log_offset).second) news.push_back(landed);
}

void AnnouncedRanges::tell(const RangesOf& ranges_of, std::span<const replay::PlanSource> sources,
                           std::span<const LogShift> shifts, std::vector<LogRange>& news) {
  for (const replay::PlanSource& source : sources) {
    const auto ranges = ranges_of(source.writer);
    if (ranges.empty()) continue;
    const auto shift = static_cast<std::uint64_t>(replay::shift_of(shifts, source.writer));
    const std::uint64_t first = source.first + shift;
    const std::uint64_t end = source.end + shift;
    auto& told = writers_[source.writer];
    told.resize(ranges.size());
    auto range = std::ranges::upper_bound(ranges, first, {}, &LogRange::log_offset);
    if (range == ranges.begin()) continue;  // unknown: the client notices and fails
    for (--range; range != ranges.end() && range->log_offset < end; ++range) {
      LogRange& sent_range = told[static_cast<std::size_t>(range - ranges.begin())];
      if (sent_range != *range) news.push_back(*range);
      sent_range = *range;
    }
  }
}

int unwritten_variable(matcher::StepIndex& index, const Get& request) {
  for (const ReadAccess& access : request.accesses) {
    matcher::WriteIndex& writes = index.writes(access.varid).index;
    for (const formats::HyperslabView& slab : slabs_of(list_of(request, access))) {
      if (!writes.is_put(slab)) return access.varid;
    }
  }
  return -1;
}

namespace {

/// Accesses with equal keys have the same plan, except for the positions of each writer's data: they read the
/// same list from variables that were written by the same requests.
struct PlanKey {
  const matcher::WriteIndex* index = nullptr;
  std::uint32_t list = 0;
  auto operator<=>(const PlanKey&) const = default;
};

struct MadePlan {
  std::uint32_t number = 0;
  std::vector<replay::PlanSource> sources;
};

MadePlan make_plan(matcher::WriteIndex& index, std::size_t element_bytes, const ReadList& list,
                   std::vector<std::byte>& plans) {
  replay::PlanBuilder builder(element_bytes);
  builder.add(slabs_of(list), index);
  const replay::Plan plan = builder.take();
  replay::encode(plan, plans);
  return {0, replay::sources_of(plan, element_bytes)};
}

}  // namespace

Plans answer_get(matcher::StepIndex& index, const Get& request, AnnouncedRanges& told) {
  Plans answer;
  std::map<PlanKey, MadePlan> made;
  const auto ranges_of = [&](std::uint32_t writer) { return index.ranges(writer); };
  for (const ReadAccess& access : request.accesses) {
    const matcher::VariableWrites writes = index.writes(access.varid);
    const auto [place, is_new] = made.try_emplace({&writes.index, access.list});
    MadePlan& plan = place->second;
    if (is_new) {
      plan =
          make_plan(writes.index, index.element_bytes(access.varid), list_of(request, access), answer.plans);
      plan.number = static_cast<std::uint32_t>(made.size() - 1);
    }
    told.tell(ranges_of, plan.sources, writes.shifts, answer.ranges);
    answer.uses.push_back({plan.number, {writes.shifts.begin(), writes.shifts.end()}});
  }
  return answer;
}

}  // namespace sluice::runtime
