#pragma once
#include <boost/sort/spreadsort/spreadsort.hpp>
#include <cstdint>
#include <vector>

namespace sluice::matcher {

/// Returns the indexes 0 … n - 1 in ascending order of their positions. Linear in n for practical purposes
/// (spreadsort, Ross 2002).
template <class PositionOf>
std::vector<std::uint32_t> sorted_order(std::size_t n, PositionOf position_of) {
  struct Key {
    std::int64_t position = 0;
    std::uint32_t index = 0;
    bool operator<(const Key& other) const noexcept { return position < other.position; }
  };
  std::vector<Key> keys;
  keys.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) keys.push_back({position_of(i), i});
  boost::sort::spreadsort::integer_sort(keys.begin(), keys.end(),
                                        [](const Key& key, unsigned shift) { return key.position >> shift; });
  std::vector<std::uint32_t> order;
  order.reserve(n);
  for (const Key& key : keys) order.push_back(key.index);
  return order;
}

}  // namespace sluice::matcher
