#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::formats {

/// Name → id for dimensions and variables: constant-time look-ups for headers with many thousand variables.
/// The owner stores the names; each function receives name_of(id) to access them. The index is one allocation
/// for any number of names, so that copying a header is cheap.
class NameIndex {
 public:
  /// Returns the id, or -1.
  template <class NameOf>
  [[nodiscard]] int find(std::string_view name, const NameOf& name_of) const noexcept {
    const Slot* const slot = find_slot(name, name_of);
    return slot == nullptr ? -1 : slot->id;
  }
  /// Adds an id. If a name is added twice (damaged files may contain this), the first id stays.
  template <class NameOf>
  void add(std::string_view name, int id, const NameOf& name_of) {
    if (find_slot(name, name_of) != nullptr) return;
    if (2 * (taken_ + 1) > slots_.size()) grow();
    put({hash_of(name), id});
  }
  /// Requires that name_of(id) still returns the old name.
  template <class NameOf>
  void rename(std::string_view to, int id, const NameOf& name_of) {
    if (Slot* const slot = const_cast<Slot*>(find_slot(name_of(id), name_of)); slot != nullptr)
      slot->id = removed;
    add(to, id, name_of);
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = empty;
  };
  static constexpr std::int32_t empty = -1;
  static constexpr std::int32_t removed = -2;  ///< other slots may follow

  static std::uint32_t hash_of(std::string_view name) noexcept {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
  }

  template <class NameOf>
  [[nodiscard]] const Slot* find_slot(std::string_view name, const NameOf& name_of) const noexcept {
    if (slots_.empty()) return nullptr;
    const std::uint32_t hash = hash_of(name);
    for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.id == empty) return nullptr;
      if (slot.id >= 0 && slot.hash == hash && std::string_view(name_of(slot.id)) == name) return &slot;
    }
  }

  void put(const Slot& added) {
    std::size_t i = added.hash & (slots_.size() - 1);
    while (slots_[i].id != empty) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = added;
    ++taken_;
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, {});
    std::size_t live = 0;
    for (const Slot& slot : old) live += slot.id >= 0 ? 1 : 0;
    std::size_t size = 8;
    while (size < 4 * (live + 1)) size *= 2;
    slots_.resize(size);
    taken_ = 0;
    for (const Slot& slot : old)
      if (slot.id >= 0) put(slot);
  }

  std::vector<Slot> slots_;  ///< the number of slots is a power of two, at most half of them taken
  std::size_t taken_ = 0;    ///< slots with ids or removed entries
};

}  // namespace sluice::formats
