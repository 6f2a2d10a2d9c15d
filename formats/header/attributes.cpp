#include <algorithm>
#include <utility>

#include "sluice/formats/header.hpp"
#include "sluice/formats/names.hpp"

namespace sluice::formats {
namespace {

struct NameOf {
  const std::vector<Attribute>& list;
  const std::string& operator()(int i) const { return list[static_cast<std::size_t>(i)].name; }
};

}  // namespace

int Attributes::find(std::string_view given) const {
  std::string storage;
  const auto name = normalised_name(given, storage);
  if (is_indexed_) return names_.find(name, NameOf{list_});
  const auto it =
      std::find_if(list_.begin(), list_.end(), [name](const Attribute& a) { return a.name == name; });
  return it == list_.end() ? -1 : static_cast<int>(it - list_.begin());
}

void Attributes::index_all() {
  is_indexed_ = true;
  for (int i = 0; i < size(); ++i) names_.add(list_[static_cast<std::size_t>(i)].name, i, NameOf{list_});
}

void Attributes::append(Attribute attribute) {
  list_.push_back(std::move(attribute));
  if (is_indexed_)
    names_.add(list_.back().name, size() - 1, NameOf{list_});
  else if (list_.size() > few)
    index_all();
}

int Attributes::put(Attribute attribute) {
  const int found = find(attribute.name);
  if (found >= 0) {
    (*this)[found] = std::move(attribute);
    return found;
  }
  append(std::move(attribute));
  return size() - 1;
}

void Attributes::remove(int i) {
  list_.erase(list_.begin() + i);
  // Many removals must not rebuild the index each time; the next addition rebuilds it.
  names_ = {};
  is_indexed_ = false;
}

void Attributes::rename(int i, std::string name) {
  if (is_indexed_) names_.rename(name, i, NameOf{list_});
  (*this)[i].name = std::move(name);
}

}  // namespace sluice::formats
