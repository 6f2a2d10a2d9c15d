#include "owned_requests.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <memory>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/divided_list.hpp"

namespace sluice::runtime {

using matcher::TableEntry;
using matcher::TableReader;

void OwnedRequests::add(std::span<const WriterRequests> writers, Newer newer) {
  TableEntry entry;
  for (const WriterRequests& from : writers) {
    std::vector<std::shared_ptr<const matcher::ListedBoxes>> lists;  // shared by the requests that name them
    for (const std::vector<std::byte>& boxes : from.lists) lists.push_back(matcher::part_of_list(boxes));
    TableReader reader(from.requests, 0);
    while (reader.next(entry)) {
      const bool is_request = has_box(entry.kind) || entry.kind == matcher::EntryKind::list_request;
      if (is_request && newer == Newer::is_left_out && !indexes_.has_variable(entry.varid)) continue;
      if (has_box(entry.kind)) {
        indexes_.add(from.writer, entry);
      } else if (entry.kind == matcher::EntryKind::list_request) {
        indexes_.add(from.writer, entry, matcher::list_of(entry, lists));
      }
    }
  }
}

MatchedParts OwnedRequests::plan_parts(const matcher::StepPartition& partition, std::uint32_t self,
                                       const MatchParts& request) {
  struct PlanKey {
    const matcher::WriteIndex* index = nullptr;
    std::uint32_t list = 0;
    matcher::Division division;
    auto operator<=>(const PlanKey&) const = default;
  };
  std::map<PlanKey, std::uint32_t> numbers;
  MatchedParts answer;
  answer.ticket = request.ticket;
  for (const PartAccess& access : request.accesses) {
    if (access.list >= request.lists.size()) throw Error(NC_EIO, "a part of an access names an unknown list");
    const matcher::Ownership& ownership = partition.of(access.varid);
    const matcher::VariableWrites writes = indexes_.writes(access.varid);
    const auto [plan, is_new] = numbers.try_emplace({&writes.index, access.list, ownership.division()},
                                                    static_cast<std::uint32_t>(numbers.size()));
    if (is_new) {
      replay::encode(plan_part(ownership, self, access.varid, request.lists[access.list]),
                     answer.plans.emplace_back());
    }
    answer.uses.push_back({access.access, plan->second, {writes.shifts.begin(), writes.shifts.end()}});
  }
  return answer;
}

replay::Plan OwnedRequests::plan_part(const matcher::Ownership& ownership, std::uint32_t self, int varid,
                                      std::span<const std::byte> reads) {
  replay::PlanBuilder builder(indexes_.element_bytes(varid));
  matcher::WriteIndex& index = indexes_.writes(varid).index;
  std::vector<matcher::OwnedPart> parts;
  TableReader reader(reads, 0);
  TableEntry read;
  while (reader.next(read)) {
    if (!has_box(read.kind)) continue;
    if (read.box.dimensions() != ownership.division().dimensions)
      throw Error(NC_EIO, "a read and its variable have different numbers of dimensions");
    parts.clear();
    ownership.divide(read.box, parts);
    for (const matcher::OwnedPart& part : parts) {
      if (part.owner != self) continue;
      builder.add(replay::PartOfRead{read.box, ownership.dimension(), part.first, part.count,
                                     static_cast<std::int64_t>(read.log_offset)},
                  index);
    }
  }
  return builder.take();
}

bool OwnedRequests::are_put(int varid, std::span<const formats::HyperslabView> reads) {
  matcher::WriteIndex& writes = indexes_.writes(varid).index;
  return std::ranges::all_of(reads, [&](const formats::HyperslabView& read) { return writes.is_put(read); });
}

replay::Plan OwnedRequests::plan(int varid, std::span<const formats::HyperslabView> reads) {
  replay::PlanBuilder builder(indexes_.element_bytes(varid));
  builder.add(reads, indexes_.writes(varid).index);
  return builder.take();
}

}  // namespace sluice::runtime
