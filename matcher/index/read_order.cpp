#include "sluice/matcher/read_order.hpp"

#include <algorithm>
#include <limits>

#include "linearisation.hpp"
#include "sluice/matcher/box.hpp"
#include "sorted_order.hpp"

namespace sluice::matcher {
namespace {

/// Sorting fewer reads does not pay.
constexpr std::size_t least_reads = 1024;

}  // namespace

std::vector<std::uint32_t> ascending_order(std::span<const formats::HyperslabView> reads) {
  if (reads.size() < least_reads || reads.size() > std::numeric_limits<std::uint32_t>::max()) return {};
  const auto begins_before = [](const formats::HyperslabView& a, const formats::HyperslabView& b) {
    return std::ranges::lexicographical_compare(a.start, b.start);
  };
  if (std::ranges::is_sorted(reads, begins_before)) return {};

  std::vector<std::int64_t> extents(reads.front().start.size(), 1);
  for (const formats::HyperslabView& read : reads) {
    if (read.start.size() != extents.size() || !is_sound(read)) return {};
    for (std::size_t d = 0; d < extents.size(); ++d) extents[d] = std::max(extents[d], read.start[d] + 1);
  }
  const Linearisation linearisation(extents);
  if (!linearisation.is_usable()) return {};
  return sorted_order(reads.size(),
                      [&](std::uint32_t i) { return linearisation.position_of(reads[i].start); });
}

}  // namespace sluice::matcher
