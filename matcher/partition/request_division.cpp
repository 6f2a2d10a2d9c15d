#include "sluice/matcher/request_division.hpp"

#include <utility>

namespace sluice::matcher {

RequestDivision::Writer& RequestDivision::of(std::uint32_t owner, std::uint32_t writer) {
  std::vector<Writer>& writers = by_owner_[owner];
  if (writers.empty() || writers.back().writer != writer) writers.push_back({writer, {}, {}, {}});
  return writers.back();
}

void RequestDivision::add(const StepPartition& partition, std::uint32_t writer, const TableEntry& entry,
                          std::span<const std::byte> bytes) {
  parts_.clear();
  partition.divide(entry, parts_);
  for (const OwnedPart& part : parts_) of(part.owner, writer).requests.add_encoded(bytes);
}

/// No other writer names a writer's lists, so the divisions for the previous writer are no longer needed.
const DividedList& RequestDivision::divided(const StepPartition& partition, int varid,
                                            const std::shared_ptr<const ListedBoxes>& list) {
  const Ownership& ownership = partition.of(varid);
  const ListKey key{list, ownership.division()};
  const auto known = divided_.find(key);
  if (known != divided_.end()) return known->second;
  return divided_.emplace(key, DividedList(list->boxes.views(), ownership)).first->second;
}

void RequestDivision::add(const StepPartition& partition, std::uint32_t writer, const TableEntry& request,
                          const std::shared_ptr<const ListedBoxes>& list) {
  if (std::exchange(writer_, writer) != writer) divided_.clear();
  const Ownership& ownership = partition.of(request.varid);
  const DividedList& parts = divided(partition, request.varid, list);
  for (const DividedList::Part& part : parts.parts()) {
    Writer& to = of(ownership.owner_of_part(part.part), writer);
    const auto [number, is_new] = to.numbers.try_emplace({&parts, part.part}, to.lists.size());
    if (is_new) to.lists.push_back(part.boxes);
    TableEntry entry = request;
    entry.list = number->second;
    to.requests.add(entry);
  }
}

std::vector<WriterRequests> RequestDivision::take(std::uint32_t owner) {
  std::vector<WriterRequests> requests;
  if (owner >= by_owner_.size()) return requests;
  for (Writer& writer : by_owner_[owner])
    requests.push_back({writer.writer, writer.requests.take(), std::move(writer.lists)});
  by_owner_[owner].clear();
  by_owner_[owner].shrink_to_fit();
  divided_.clear();  // all writers are done
  return requests;
}

}  // namespace sluice::matcher
