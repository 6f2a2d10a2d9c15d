#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <utility>

namespace sluice::matcher {

/// A map for keys that nearly always come in ascending order, as numbers that are given one after the other.
/// It lies in one piece and keeps its memory, so a short one costs next to nothing. An entry that is erased
/// stays as a gap until half of the entries are gaps. Values do not keep their addresses.
/// `inline_entries`: so many lie within the map.
template <class Key, class Value, std::size_t inline_entries = 0>
class AscendingMap {
 public:
  struct Entry {
    Key key{};
    Value value{};
    bool is_gap = false;
  };

  /// For loops over all entries.
  class Iterator {
   public:
    Iterator(const Entry* place, const Entry* end) noexcept : place_(place), end_(end) { skip_gaps(); }
    const Entry& operator*() const noexcept { return *place_; }
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
    const Entry* place_;
    const Entry* end_;
  };

  /// Replaces the value of a key that is there.
  void set(const Key& key, Value value) {
    if (entries_.empty() || entries_.back().key < key) {
      entries_.push_back(Entry{key, std::move(value)});
      return;
    }
    Entry* const found = lower_bound(key);
    if (found->key != key) {
      entries_.insert(entries_.begin() + (found - entries_.data()), Entry{key, std::move(value)});
      return;
    }
    if (std::exchange(found->is_gap, false)) --gaps_;
    found->value = std::move(value);
  }
  /// Null when there is no value.
  [[nodiscard]] const Value* find(const Key& key) const noexcept {
    const Entry* const found = const_cast<AscendingMap*>(this)->lower_bound(key);
    return found != last() && found->key == key && !found->is_gap ? &found->value : nullptr;
  }
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

  [[nodiscard]] Iterator begin() const noexcept { return {entries_.data(), last()}; }
  [[nodiscard]] Iterator end() const noexcept { return {last(), last()}; }

 private:
  [[nodiscard]] const Entry* last() const noexcept { return entries_.data() + entries_.size(); }
  [[nodiscard]] Entry* lower_bound(const Key& key) noexcept {
    // Often it is the last one.
    if (!entries_.empty() && entries_.back().key == key) return &entries_.back();
    Entry* const first = entries_.data();
    return std::ranges::lower_bound(first, first + entries_.size(), key, {}, &Entry::key);
  }

  boost::container::small_vector<Entry, inline_entries> entries_;  ///< the last one is no gap
  std::size_t gaps_ = 0;
};

}  // namespace sluice::matcher
