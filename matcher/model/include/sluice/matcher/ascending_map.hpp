#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <concepts>
#include <cstddef>
#include <utility>

namespace sluice::matcher {

/// A map for keys that nearly always come in ascending order, as numbers that are given one after the other.
/// It lies in one piece and keeps its memory, so a short one costs next to nothing. An entry that is erased
/// stays as a gap until half of the entries are gaps. Values do not keep their addresses.
/// Numbers without gaps are found at once, others by halving.
/// `inline_entries`: so many lie within the map.
template <class Key, class Value, std::size_t inline_entries = 0>
class AscendingMap {
 public:
  struct Entry {
    Key key{};
    [[no_unique_address]] Value value{};  // the flag lies behind its members, where there is room
    bool is_gap = false;
  };

  /// For loops over all entries.
  template <class EntryType>
  class Iterator {
   public:
    Iterator(EntryType* place, EntryType* end) noexcept : place_(place), end_(end) { skip_gaps(); }
    EntryType& operator*() const noexcept { return *place_; }
    Iterator& operator++() noexcept {
      ++place_;
      skip_gaps();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return place_ == other.place_; }

   private:
    void skip_gaps() noexcept {
      while (place_ != end_ && place_->is_gap) ++place_;
    }
    EntryType* place_;
    EntryType* end_;
  };

  /// Replaces the value of a key that is there. The reference is valid until the map changes.
  Value& set(const Key& key, Value value) {
    // By a quarter: there are many maps, and of more entries than fit into the cache.
    if (entries_.size() == entries_.capacity()) entries_.reserve(entries_.size() + entries_.size() / 4 + 4);
    if (entries_.empty() || entries_.back().key < key)
      return entries_.emplace_back(Entry{key, std::move(value)}).value;
    Entry* const found = lower_bound(key);
    if (found->key != key)
      return entries_.insert(entries_.begin() + (found - entries_.data()), Entry{key, std::move(value)})
          ->value;
    if (std::exchange(found->is_gap, false)) --gaps_;
    return found->value = std::move(value);
  }
  /// Null when there is no value.
  [[nodiscard]] Value* find(const Key& key) noexcept { return value_at(lower_bound(key), key); }
  [[nodiscard]] const Value* find(const Key& key) const noexcept {
    return const_cast<AscendingMap*>(this)->find(key);
  }
  /// Finds keys of which most are the next one to the one before, while the map does not change.
  class Walk {
   public:
    explicit Walk(const AscendingMap& map) noexcept : map_(const_cast<AscendingMap&>(map)) {}
    /// As AscendingMap::find().
    [[nodiscard]] const Value* find(const Key& key) noexcept {
      const bool is_next = next_ < map_.entries_.size() && map_.entries_[next_].key == key;
      Entry* const found = is_next ? map_.entries_.data() + next_ : map_.lower_bound(key);
      next_ = static_cast<std::size_t>(found - map_.entries_.data()) + 1;
      return map_.value_at(found, key);
    }

   private:
    AscendingMap& map_;
    std::size_t next_ = 0;
  };
  /// Returns whether there was a value.
  bool erase(const Key& key) {
    Entry* const found = lower_bound(key);
    if (found == last() || found->key != key || found->is_gap) return false;
    *found = Entry{key, Value{}, true};
    ++gaps_;
    for (; !entries_.empty() && entries_.back().is_gap; --gaps_) entries_.pop_back();
    if (gaps_ * 2 > entries_.size()) {
      const auto is_gap = [](const Entry& entry) { return entry.is_gap; };
      entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_gap), entries_.end());
      gaps_ = 0;
    }
    return true;
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size() - gaps_; }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// The entry with the greatest key. There must be one.
  [[nodiscard]] const Entry& back() const noexcept { return entries_.back(); }

  [[nodiscard]] Iterator<Entry> begin() noexcept { return {entries_.data(), last()}; }
  [[nodiscard]] Iterator<Entry> end() noexcept { return {last(), last()}; }
  [[nodiscard]] Iterator<const Entry> begin() const noexcept { return {entries_.data(), last()}; }
  [[nodiscard]] Iterator<const Entry> end() const noexcept { return {last(), last()}; }

 private:
  [[nodiscard]] Entry* last() noexcept { return entries_.data() + entries_.size(); }
  [[nodiscard]] const Entry* last() const noexcept { return entries_.data() + entries_.size(); }
  [[nodiscard]] Value* value_at(Entry* found, const Key& key) noexcept {
    return found != last() && found->key == key && !found->is_gap ? &found->value : nullptr;
  }
  [[nodiscard]] Entry* lower_bound(const Key& key) noexcept {
    if (entries_.empty()) return last();
    Entry* const first = entries_.data();
    if (entries_.back().key == key) return &entries_.back();  // often it is the last one
    if constexpr (std::unsigned_integral<Key>) {
      const Key place = key - first->key;  // if no number is missing
      if (place < entries_.size() && first[place].key == key) return first + place;
    }
    return std::ranges::lower_bound(first, last(), key, {}, &Entry::key);
  }

  boost::container::small_vector<Entry, inline_entries> entries_;  ///< the last one is no gap
  std::size_t gaps_ = 0;
};

}  // namespace sluice::matcher
