#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::matcher {

/// Elements first, first + step, … of one dimension of a read.
struct Progression {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

/// Whether parts of a dense box of shape `shape` (at least one dimension, all counts positive) together hold
/// each of its elements. `parts`: one progression per dimension, part after part, all within the shape. May
/// say false where an answer would take too long, never true where an element is missing.
[[nodiscard]] bool covers(std::span<const std::int64_t> shape, const std::vector<Progression>& parts);

/// The same, always exact. Where the short ways do not tell, it marks each element: that takes a bit an
/// element of as many rows as fit into 8 MiB, and of one row at least.
[[nodiscard]] bool covers_exactly(std::span<const std::int64_t> shape, const std::vector<Progression>& parts);

}  // namespace sluice::matcher
