#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::formats {

/// Calls visit(HyperslabView) for boxes that together have the elements [first, first + count) of an array of
/// that shape, in row-major order. There are at most two boxes for each dimension, and none for an empty
/// range.
template <class Visit>
void for_each_box(std::span<const std::int64_t> shape, std::int64_t first, std::int64_t count,
                  const Visit& visit) {
  const std::size_t dimensions = shape.size();
  Hyperslab box;
  for (std::int64_t rest = count; rest > 0;) {
    box.start.assign(dimensions, 0);
    box.count.assign(dimensions, 1);
    std::int64_t remainder = first;
    for (std::size_t d = dimensions; d-- > 0;) {
      box.start[d] = remainder % shape[d];
      remainder /= shape[d];
    }
    // Takes as many whole indexes as possible of the slowest dimension that has a whole index here.
    std::int64_t elements = 1;
    for (std::size_t d = dimensions; d-- > 0;) {
      const bool has_next = d > 0 && box.start[d] == 0 && rest >= elements * shape[d];
      box.count[d] = has_next ? shape[d] : std::min(shape[d] - box.start[d], rest / elements);
      elements *= box.count[d];
      if (!has_next) break;
    }
    visit(box.view());
    first += elements;
    rest -= elements;
  }
}

}  // namespace sluice::formats
