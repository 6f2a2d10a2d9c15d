#include "sluice/matcher/divided_list.hpp"

#include <map>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"
#include "sluice/matcher/request_list.hpp"

namespace sluice::matcher {

DividedList::DividedList(std::span<const formats::HyperslabView> boxes, const Ownership& ownership) {
  const int dimensions = ownership.division().dimensions;
  std::map<std::uint32_t, RequestList> lists;  // by part
  std::vector<OwnedPart> owned;
  TableEntry entry;
  entry.varid = 0;
  for (const formats::HyperslabView& box : boxes) {
    if (box.dimensions() != dimensions || !is_sound(box)) {
      throw Error(NC_EIO, "a list has boxes of " + std::to_string(box.dimensions()) +
                              " dimensions for a variable that has " + std::to_string(dimensions) +
                              ", or numbers out of range");
    }
    owned.clear();
    ownership.divide(box, owned);
    if (owned.empty()) continue;
    entry.log_offset = static_cast<std::uint64_t>(elements_);
    entry.box = box;
    for (const OwnedPart& part : owned) lists[ownership.part_of_owner(part.owner)].add(entry);
    elements_ += box.elements();
    if (elements_ > max_elements) throw Error(NC_EIO, "a list has too many elements");
  }
  for (auto& [part, list] : lists) parts_.push_back({part, list.take()});
}

std::shared_ptr<const ListedBoxes> part_of_list(std::span<const std::byte> boxes) {
  std::vector<std::uint64_t> first_elements;
  std::vector<std::int64_t> numbers;
  struct Place {
    std::size_t first = 0;  ///< index of its first number
    bool has_stride = false;
  };
  std::vector<Place> places;
  std::size_t dimensions = 0;
  TableReader reader(boxes, 0);
  TableEntry entry;
  while (reader.next(entry)) {
    if (places.empty()) dimensions = entry.box.start.size();
    if (entry.kind != EntryKind::request || dimensions == 0 || entry.box.start.size() != dimensions)
      throw Error(NC_EIO, "a list of boxes from another matcher has something else in it");
    first_elements.push_back(entry.log_offset);
    places.push_back({numbers.size(), !entry.box.stride.empty()});
    for (const auto part : {entry.box.start, entry.box.count, entry.box.stride})
      numbers.insert(numbers.end(), part.begin(), part.end());
  }
  if (places.empty()) throw Error(NC_EIO, "a list from another matcher has no boxes");
  std::vector<formats::HyperslabView> views;
  views.reserve(places.size());
  for (const Place& place : places) {
    const auto part = [&](std::size_t array) {
      return std::span<const std::int64_t>(numbers).subspan(place.first + array * dimensions, dimensions);
    };
    views.push_back({part(0), part(1), place.has_stride ? part(2) : std::span<const std::int64_t>()});
  }
  return std::make_shared<const ListedBoxes>(views, std::move(first_elements));
}

}  // namespace sluice::matcher
