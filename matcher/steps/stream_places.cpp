#include "stream_places.hpp"

#include <algorithm>

namespace sluice::matcher {

/// Who has looked at a step alone may open it together with others after that.
void StreamPlaces::advance(StreamPlace& place, const Group& group, std::uint64_t number) noexcept {
  place.alone = std::max(place.alone, number);
  if (group.member.size > 1) place.together = std::max(place.together, number);
}

void StreamPlaces::note_taken(const Group& group, std::uint64_t number) {
  Places& places = places_[{group.key, group.component}];
  advance(places.all, group, number);
  if (group.component->processes == 0) {
    places.of_process.clear();
    return;
  }
  for (const auto& [rank, member] : group.members) advance(places.of_process[member.process], group, number);
}

void StreamPlaces::note_joined(const Group& group, ProcessId process, std::uint64_t number) {
  if (group.component->processes == 0) return;
  advance(places_[{group.key, group.component}].of_process[process], group, number);
}

void StreamPlaces::restart(const DatasetKey& key, const Component& component, std::uint64_t number) {
  const auto found = places_.find({key, &component});
  if (found == places_.end()) return;
  Places& places = found->second;
  places.begin = number;
  places.all = {std::min(places.all.alone, number), std::min(places.all.together, number)};
  places.of_process.clear();
}

std::uint64_t StreamPlaces::of(const Group& group) const {
  const auto found = places_.find({group.key, group.component});
  if (found == places_.end()) return 0;
  StreamPlace place = found->second.all;
  if (group.component->processes > 0) {
    const auto own = found->second.of_process.find(group.members.begin()->second.process);
    const std::uint64_t begin = found->second.begin;
    place = own == found->second.of_process.end() ? StreamPlace{begin, begin} : own->second;
  }
  return group.member.size > 1 ? place.together : place.alone;
}

StreamPlace StreamPlaces::of(const DatasetKey& key, const Component& component) const {
  const auto found = places_.find({key, &component});
  return found == places_.end() ? StreamPlace{} : found->second.all;
}

}  // namespace sluice::matcher
