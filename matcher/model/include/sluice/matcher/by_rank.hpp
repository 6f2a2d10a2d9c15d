#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sluice::matcher {

/// Values by rank: a map whose look-ups take the same time however many ranks there are. Iterates in the
/// order of the ranks. Values keep their addresses.
template <class Value>
class ByRank {
 public:
  using Entry = std::pair<const std::uint32_t, Value>;

  template <class EntryType>
  class Iterator {
   public:
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using reference = EntryType&;
    using pointer = EntryType*;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    Iterator(const std::unique_ptr<Entry>* place, const std::unique_ptr<Entry>* end) noexcept
        : place_(place), end_(end) {
      skip_empty();
    }
    reference operator*() const noexcept { return **place_; }
    pointer operator->() const noexcept { return place_->get(); }
    Iterator& operator++() noexcept {
      ++place_;
      skip_empty();
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const noexcept { return place_ == other.place_; }

   private:
    void skip_empty() noexcept {
      while (place_ != end_ && *place_ == nullptr) ++place_;
    }
    const std::unique_ptr<Entry>* place_ = nullptr;
    const std::unique_ptr<Entry>* end_ = nullptr;
  };

  /// Room for the ranks below `ranks`.
  void reserve(std::uint32_t ranks) { entries_.reserve(ranks); }
  /// Makes the value when there is none.
  Value& operator[](std::uint32_t rank) {
    if (rank >= entries_.size()) entries_.resize(std::size_t{rank} + 1);
    std::unique_ptr<Entry>& entry = entries_[rank];
    if (entry == nullptr) {
      entry = std::make_unique<Entry>(rank, Value{});
      ++size_;
    }
    return entry->second;
  }
  /// Throws std::out_of_range when there is no value.
  [[nodiscard]] Value& at(std::uint32_t rank) {
    if (!contains(rank)) throw std::out_of_range("there is no such rank");
    return entries_[rank]->second;
  }
  [[nodiscard]] bool contains(std::uint32_t rank) const noexcept {
    return rank < entries_.size() && entries_[rank] != nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] auto begin() noexcept { return Iterator<Entry>(entries_.data(), last()); }
  [[nodiscard]] auto end() noexcept { return Iterator<Entry>(last(), last()); }
  [[nodiscard]] auto begin() const noexcept { return Iterator<const Entry>(entries_.data(), last()); }
  [[nodiscard]] auto end() const noexcept { return Iterator<const Entry>(last(), last()); }

 private:
  [[nodiscard]] const std::unique_ptr<Entry>* last() const noexcept {
    return entries_.data() + entries_.size();
  }

  std::vector<std::unique_ptr<Entry>> entries_;
  std::size_t size_ = 0;
};

}  // namespace sluice::matcher
