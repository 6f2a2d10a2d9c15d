#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sluice::matcher {

/// Values by number, for numbers that are nearly consecutive: ranks, or processes in the order of their
/// connections. Look-ups take the same time however many there are. Iterates in the order of the numbers.
/// Values keep their addresses, and values of successive numbers lie behind each other, so that who goes
/// through them finds them in the cache.
template <class Number, class Value>
class ByNumber {
 public:
  using Entry = std::pair<const Number, Value>;

 private:
  /// Values begin with a line of the cache where their size allows it.
  static constexpr std::align_val_t alignment{64};
  static_assert(alignof(Entry) <= static_cast<std::size_t>(alignment));
  struct ReturnRoom {
    void operator()(std::byte* room) const noexcept { ::operator delete[](room, alignment); }
  };
  /// Room for the values of successive numbers. Of the first chunks, each has as many as all before it.
  struct Chunk {
    std::uint64_t present = 0;  ///< a bit for each place
    std::unique_ptr<std::byte[], ReturnRoom> room;

    [[nodiscard]] Entry* at(std::size_t place) const noexcept {
      return std::launder(reinterpret_cast<Entry*>(room.get() + place * sizeof(Entry)));
    }
    [[nodiscard]] bool has(std::size_t place) const noexcept { return ((present >> place) & 1U) != 0; }
  };
  static constexpr std::size_t most_in_chunk = 64;
  static constexpr std::size_t growing_chunks = 7;  ///< with 1, 1, 2, 4, 8, 16 and 32 places

  struct Position {
    std::size_t chunk = 0, place = 0;
    bool operator==(const Position&) const = default;
  };
  [[nodiscard]] static Position position_of(Number number) noexcept {
    const auto index = static_cast<std::uint64_t>(number);
    if (index >= most_in_chunk) return {growing_chunks - 1 + index / most_in_chunk, index % most_in_chunk};
    const auto chunk = static_cast<std::size_t>(std::bit_width(index));
    return {chunk, index == 0 ? 0 : index - (std::uint64_t{1} << (chunk - 1))};
  }
  [[nodiscard]] static std::size_t places_in(std::size_t chunk) noexcept {
    if (chunk >= growing_chunks) return most_in_chunk;
    return chunk == 0 ? 1 : std::size_t{1} << (chunk - 1);
  }

 public:
  template <class EntryType>
  class Iterator {
   public:
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using reference = EntryType&;
    using pointer = EntryType*;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    Iterator(const std::vector<Chunk>* chunks, Position position) noexcept
        : chunks_(chunks), position_(position) {
      skip_empty();
    }
    reference operator*() const noexcept { return *(*chunks_)[position_.chunk].at(position_.place); }
    pointer operator->() const noexcept { return (*chunks_)[position_.chunk].at(position_.place); }
    Iterator& operator++() noexcept {
      ++position_.place;
      skip_empty();
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const noexcept { return position_ == other.position_; }

   private:
    void skip_empty() noexcept {
      for (; position_.chunk < chunks_->size(); position_ = {position_.chunk + 1, 0}) {
        if (position_.place >= most_in_chunk) continue;
        const std::uint64_t left = (*chunks_)[position_.chunk].present >> position_.place;
        if (left == 0) continue;
        position_.place += static_cast<std::size_t>(std::countr_zero(left));
        return;
      }
    }
    const std::vector<Chunk>* chunks_ = nullptr;
    Position position_;
  };

  ByNumber() = default;
  ~ByNumber() {
    for (Entry& entry : *this) std::destroy_at(&entry);
  }
  ByNumber(const ByNumber&) = delete;
  ByNumber& operator=(const ByNumber&) = delete;

  /// Makes the value when there is none.
  Value& operator[](Number number) {
    const Position position = position_of(number);
    if (position.chunk >= chunks_.size()) chunks_.resize(position.chunk + 1);
    Chunk& chunk = chunks_[position.chunk];
    if (chunk.has(position.place)) return chunk.at(position.place)->second;
    if (chunk.room == nullptr)
      chunk.room.reset(new (alignment) std::byte[places_in(position.chunk) * sizeof(Entry)]);
    Entry* const made =
        std::construct_at(reinterpret_cast<Entry*>(chunk.room.get()) + position.place, number, Value{});
    chunk.present |= std::uint64_t{1} << position.place;
    ++size_;
    return made->second;
  }
  /// Null when there is no value.
  [[nodiscard]] Value* find(Number number) noexcept {
    const Position position = position_of(number);
    if (position.chunk >= chunks_.size() || !chunks_[position.chunk].has(position.place)) return nullptr;
    return &chunks_[position.chunk].at(position.place)->second;
  }
  [[nodiscard]] const Value* find(Number number) const noexcept {
    return const_cast<ByNumber*>(this)->find(number);
  }
  /// Throws std::out_of_range when there is no value.
  [[nodiscard]] Value& at(Number number) {
    if (Value* const found = find(number)) return *found;
    throw std::out_of_range("there is no such number");
  }
  [[nodiscard]] const Value& at(Number number) const { return const_cast<ByNumber*>(this)->at(number); }
  [[nodiscard]] bool contains(Number number) const noexcept { return find(number) != nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  void erase(Number number) noexcept {
    if (!contains(number)) return;
    const Position position = position_of(number);
    Chunk& chunk = chunks_[position.chunk];
    std::destroy_at(chunk.at(position.place));
    chunk.present &= ~(std::uint64_t{1} << position.place);
    if (chunk.present == 0) chunk.room.reset();
    --size_;
  }

  [[nodiscard]] auto begin() noexcept { return Iterator<Entry>(&chunks_, {}); }
  [[nodiscard]] auto end() noexcept { return Iterator<Entry>(&chunks_, {chunks_.size(), 0}); }
  [[nodiscard]] auto begin() const noexcept { return Iterator<const Entry>(&chunks_, {}); }
  [[nodiscard]] auto end() const noexcept { return Iterator<const Entry>(&chunks_, {chunks_.size(), 0}); }

 private:
  std::vector<Chunk> chunks_;
  std::size_t size_ = 0;
};

}  // namespace sluice::matcher
