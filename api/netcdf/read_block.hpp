#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace sluice::api::netcdf {

/// Elements of a variable that were read ahead, as values of one type in memory. Programs read element by
/// element, too, because netCDF keeps parts of a file in memory. Who makes many small gets of a variable
/// whose values do not change gets blocks around them: small ones at first, so that who reads here and there
/// moves little.
class ReadBlock {
 public:
  using Numbers = std::span<const std::size_t>;

  /// Counts a get, whose elements have that many bytes in memory. Whether it may be one of a block.
  [[nodiscard]] bool count_get(std::size_t bytes) noexcept;
  [[nodiscard]] bool contains(Numbers start, Numbers count) const noexcept;
  void copy(Numbers start, Numbers count, void* to);

  /// Begins a block around the first of the elements: start(), count() and values() are to be fetched. Larger
  /// than the one before if that was worth its bytes.
  void place(std::size_t element_bytes, Numbers start, Numbers shape);
  [[nodiscard]] std::vector<std::size_t>& start() noexcept { return start_; }
  [[nodiscard]] std::vector<std::size_t>& count() noexcept { return count_; }
  [[nodiscard]] std::vector<std::byte>& values() noexcept { return values_; }
  /// The block could not be fetched: the program's own calls get what they ask for, and some more after that.
  void give_up() noexcept;

 private:
  int gets_ = 0;  ///< small ones; blocks are read from some on
  std::size_t element_bytes_ = 1;
  std::size_t most_bytes_ = 0;
  std::size_t hits_ = 0;
  std::vector<std::size_t> start_, count_;
  std::vector<std::byte> values_;
};

}  // namespace sluice::api::netcdf
