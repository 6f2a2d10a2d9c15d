#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::matcher {

/// Elements first, first + step, … in one dimension of a read.
struct Progression {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};

/// Whether the parts together hold each element of a dense box of shape `shape` (at least one dimension, all
/// counts positive). `parts`: one progression per dimension, part after part, all within the shape. May
/// return false when an exact answer would take too long. Never returns true when an element is missing.
[[nodiscard]] bool covers(std::span<const std::int64_t> shape, const std::vector<Progression>& parts);

/// The same, but always exact. When quick tests give no answer, marks each element. This takes one bit per
/// element, for as many rows as fit into 8 MiB, but at least one row.
[[nodiscard]] bool covers_exactly(std::span<const std::int64_t> shape, const std::vector<Progression>& parts);

}  // namespace sluice::matcher
