#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::matcher {

/// 64 numbers by their places, 0 at first. They take no room of their own as long as they belong to two rows
/// of numbers at equal distances, as those of the tables and of the data of processes that do the same one
/// after the other. Any place may have 0.
class NumberColumn {
 public:
  static constexpr std::size_t size = 64;  // a bit of a word for each place

  [[nodiscard]] std::uint64_t at(std::size_t place) const noexcept {
    if (numbers_ != nullptr) return (*numbers_)[place];
    for (const Row& row : rows_)
      if (row.has(place)) return row.at(place);
    return 0;
  }

  void set(std::size_t place, std::uint64_t number) {
    if (at(place) == number) return;
    if (numbers_ == nullptr) {
      for (Row& row : rows_) row.places &= ~(std::uint64_t{1} << place);
      if (number == 0 || rows_[0].takes(place, number) || rows_[1].takes(place, number)) return;
      spread();
    }
    (*numbers_)[place] = number;
  }

  /// Whether the numbers take no room of their own.
  [[nodiscard]] bool is_regular() const noexcept { return numbers_ == nullptr; }

 private:
  struct Row {
    std::uint64_t places = 0;    ///< a bit for each place
    std::uint64_t first = 0;     ///< at place 0; unsigned numbers wrap, so distances may be negative
    std::uint64_t distance = 0;  ///< from each place to the next one

    [[nodiscard]] bool has(std::size_t place) const noexcept { return ((places >> place) & 1U) != 0; }
    [[nodiscard]] std::uint64_t at(std::size_t place) const noexcept { return first + place * distance; }
    /// The place is in no row. A row of one place takes any number beside it.
    [[nodiscard]] bool takes(std::size_t place, std::uint64_t number) noexcept {
      if (places == 0) {
        distance = 0;
        first = number;
      } else if (std::has_single_bit(places) && at(place) != number) {
        const auto only = static_cast<std::size_t>(std::countr_zero(places));
        const std::uint64_t known = at(only);
        if (place != only + 1 && only != place + 1) return false;
        distance = place > only ? number - known : known - number;
        first = known - only * distance;
      }
      if (at(place) != number) return false;
      places |= std::uint64_t{1} << place;
      return true;
    }
  };

  void spread() {
    auto numbers = std::make_unique<std::array<std::uint64_t, size>>();
    for (std::size_t place = 0; place < size; ++place) (*numbers)[place] = at(place);
    numbers_ = std::move(numbers);
  }

  std::array<Row, 2> rows_;
  std::unique_ptr<std::array<std::uint64_t, size>> numbers_;  ///< of all places; null: the rows have them
};

}  // namespace sluice::matcher
