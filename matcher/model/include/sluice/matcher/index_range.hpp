#pragma once
#include <cstdint>

namespace sluice::matcher {

/// Indexes [first, end) of a dimension.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const IndexRange&) const = default;
};

}  // namespace sluice::matcher
