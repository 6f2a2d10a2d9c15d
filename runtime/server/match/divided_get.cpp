#include "divided_get.hpp"

#include <utility>

#include "sluice/runtime/read_lists.hpp"

namespace sluice::runtime {

std::int64_t DividedGet::add(const ReadAccess& access) {
  const matcher::Ownership& ownership = partition_.of(access.varid);
  const matcher::DividedList& list = divided(access, ownership);
  for (const matcher::DividedList::Part& part : list.parts()) {
    Owner& owner = owners_[ownership.owner_of_part(part.part)];
    const auto [number, is_new] =
        owner.numbers.try_emplace(&part, static_cast<std::uint32_t>(owner.request.lists.size()));
    if (is_new) owner.request.lists.push_back(part.boxes);
    owner.request.accesses.push_back({accesses_, access.varid, number->second});
  }
  ++accesses_;
  return list.elements();
}

const matcher::DividedList& DividedGet::divided(const ReadAccess& access,
                                                const matcher::Ownership& ownership) {
  const ListKey key{access.list, ownership.division()};
  const auto known = lists_.find(key);
  if (known != lists_.end()) return known->second;
  return lists_.emplace(key, matcher::DividedList(slabs_of(list_of(get_, access)), ownership)).first->second;
}

std::map<std::uint32_t, MatchParts> DividedGet::take() {
  std::map<std::uint32_t, MatchParts> requests;
  for (auto& [rank, owner] : owners_) requests.emplace(rank, std::move(owner.request));
  return requests;
}

}  // namespace sluice::runtime
