#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::matcher {

/// 64 numbers by their places, 0 at first. Numbers at equal distances, as those of processes that do the same
/// one after the other, take no room of their own, whichever places have 0 in place of them.
class NumberColumn {
 public:
  static constexpr std::size_t size = 64;  // a bit of a word for each place

  [[nodiscard]] std::uint64_t at(std::size_t place) const noexcept {
    if (numbers_ != nullptr) return (*numbers_)[place];
    return ((present_ >> place) & 1U) != 0 ? number_at(place) : 0;
  }

  void set(std::size_t place, std::uint64_t number) {
    if (at(place) == number) return;
    if (numbers_ == nullptr && !may_be_told(place, number)) spread();
    if (numbers_ != nullptr) {
      (*numbers_)[place] = number;
      return;
    }
    const std::uint64_t bit = std::uint64_t{1} << place;
    present_ = number == 0 ? present_ & ~bit : present_ | bit;
  }

  /// Whether the numbers take no room of their own.
  [[nodiscard]] bool is_regular() const noexcept { return numbers_ == nullptr; }

 private:
  /// Unsigned numbers wrap, so distances may be negative.
  [[nodiscard]] std::uint64_t number_at(std::size_t place) const noexcept {
    return first_ + place * distance_;
  }

  /// Whether the number and the others are at equal distances. Sets what says so while they are few.
  [[nodiscard]] bool may_be_told(std::size_t place, std::uint64_t number) noexcept {
    if (number == 0) return true;
    const std::uint64_t others = present_ & ~(std::uint64_t{1} << place);
    if (others == 0) {
      distance_ = 0;
      first_ = number;
      return true;
    }
    if (std::has_single_bit(others)) {
      const auto other = static_cast<std::size_t>(std::countr_zero(others));
      const std::uint64_t known = number_at(other);
      const auto places = static_cast<std::int64_t>(place) - static_cast<std::int64_t>(other);
      const auto apart = static_cast<std::int64_t>(number - known);
      if (apart % places != 0) return false;
      distance_ = static_cast<std::uint64_t>(apart / places);
      first_ = known - other * distance_;
      return true;
    }
    return number_at(place) == number;
  }

  void spread() {
    auto numbers = std::make_unique<std::array<std::uint64_t, size>>();
    for (std::size_t place = 0; place < size; ++place) (*numbers)[place] = at(place);
    numbers_ = std::move(numbers);
  }

  std::uint64_t present_ = 0;                                    ///< places whose numbers are not 0
  std::uint64_t first_ = 0;                                      ///< at place 0
  std::uint64_t distance_ = 0;                                   ///< from each place to the next one
  std::unique_ptr<std::array<std::uint64_t, size>> numbers_;     ///< of all places; null: they are regular
};

}  // namespace sluice::matcher
