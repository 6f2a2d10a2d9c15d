#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::formats {

/// Name → id for dimensions and variables: constant-time look-ups for headers of many thousand variables.
class NameIndex {
 public:
  /// The id, or -1.
  [[nodiscard]] int find(std::string_view name) const noexcept {
    const auto it = ids_.find(name);
    return it == ids_.end() ? -1 : it->second;
  }
  /// Keeps the first id of a name that is added twice (damaged files may hold one).
  void add(std::string_view name, int id) { ids_.emplace(std::string(name), id); }
  void rename(std::string_view from, std::string_view to, int id) {
    const auto it = ids_.find(from);
    if (it != ids_.end()) ids_.erase(it);
    add(to, id);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept {
      return std::hash<std::string_view>{}(name);
    }
  };
  std::unordered_map<std::string, int, Hash, std::equal_to<>> ids_;
};

}  // namespace sluice::formats
