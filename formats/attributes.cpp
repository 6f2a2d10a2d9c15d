#include <algorithm>
#include <utility>

#include "sluice/formats/header.hpp"
#include "sluice/formats/names.hpp"

namespace sluice::formats {

int Attributes::find(std::string_view given) const {
  std::string storage;
  const auto name = normalised_name(given, storage);
  const auto it =
      std::find_if(list_.begin(), list_.end(), [name](const Attribute& a) { return a.name == name; });
  return it == list_.end() ? -1 : static_cast<int>(it - list_.begin());
}

int Attributes::put(Attribute attribute) {
  const int found = find(attribute.name);
  if (found >= 0) {
    (*this)[found] = std::move(attribute);
    return found;
  }
  list_.push_back(std::move(attribute));
  return size() - 1;
}

void Attributes::remove(int i) {
  list_.erase(list_.begin() + i);
}

void Attributes::rename(int i, std::string name) {
  (*this)[i].name = std::move(name);
}

}  // namespace sluice::formats
