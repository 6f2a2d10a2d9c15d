#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::test {

/// Calls visit(index, position) for each element of a hyperslab in row-major order, by nested loops.
inline void for_each_element(
    const formats::HyperslabView& box,
    const std::function<void(const std::vector<std::int64_t>&, std::int64_t)>& visit) {
  const auto dimensions = static_cast<std::size_t>(box.dimensions());
  for (const std::int64_t count : box.count) {
    if (count == 0) return;
  }
  std::vector<std::int64_t> element(dimensions, 0);
  std::vector<std::int64_t> index(dimensions, 0);
  for (std::int64_t position = 0;; ++position) {
    for (std::size_t d = 0; d < dimensions; ++d)
      index[d] = box.start[d] + element[d] * box.stride_of(static_cast<int>(d));
    visit(index, position);
    std::size_t d = dimensions;
    while (d > 0 && ++element[d - 1] == box.count[d - 1]) element[--d] = 0;
    if (d == 0) return;
  }
}

/// The row-major position of an index in an array of that shape.
inline std::size_t position_of(const std::vector<std::int64_t>& shape,
                               const std::vector<std::int64_t>& index) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
  return static_cast<std::size_t>(position);
}

inline std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t length : shape) elements *= length;
  return elements;
}

/// Draws shapes and hyperslabs.
class HyperslabGenerator {
 public:
  explicit HyperslabGenerator(std::uint64_t seed) : random_(seed) {}

  std::int64_t between(std::int64_t least, std::int64_t greatest) {
    return std::uniform_int_distribution<std::int64_t>(least, greatest)(random_);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  /// A shape with that many dimensions and about `elements` elements.
  std::vector<std::int64_t> shape(std::size_t dimensions, std::int64_t elements) {
    std::vector<std::int64_t> shape(dimensions, 1);
    for (std::int64_t& length : shape) {
      length = between(1, dimensions == 1 ? elements : 9);
      if (elements_of(shape) > elements) length = 1;
    }
    return shape;
  }

  /// Any hyperslab within the shape: single elements, rows, boxes, strided ones, sometimes an empty one.
  formats::Hyperslab hyperslab(const std::vector<std::int64_t>& shape) {
    const std::int64_t kind = between(0, 3);
    const bool has_stride = chance(40);
    formats::Hyperslab box;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t start = between(0, shape[d] - 1);
      const std::int64_t stride = has_stride ? between(1, chance(20) ? shape[d] + 3 : 4) : 1;
      const std::int64_t most = (shape[d] - 1 - start) / stride + 1;
      const bool is_whole = kind == 1 && d > 0;  // whole rows
      box.start.push_back(is_whole ? 0 : start);
      box.count.push_back(is_whole ? shape[d] : (kind == 0 ? 1 : between(chance(3) ? 0 : 1, most)));
      if (has_stride) box.stride.push_back(is_whole ? 1 : stride);
    }
    return box;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace sluice::test
