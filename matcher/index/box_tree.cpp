#include "box_tree.hpp"

#include <algorithm>
#include <numeric>

namespace sluice::matcher {
namespace {

/// The middle of the box in dimension d; indexes are below 2^62.
std::int64_t centre(const BoxList& boxes, std::uint32_t i, int d) noexcept {
  const formats::HyperslabView box = boxes.box(i);
  return (box.start[static_cast<std::size_t>(d)] + box.end_of(d)) / 2;
}

int widest_dimension(const BoxList& boxes, std::span<const std::uint32_t> part) noexcept {
  int widest = 0;
  std::int64_t widest_spread = -1;
  for (int d = 0; d < boxes.dimensions(); ++d) {
    std::int64_t least = centre(boxes, part.front(), d);
    std::int64_t greatest = least;
    for (const std::uint32_t i : part) {
      least = std::min(least, centre(boxes, i, d));
      greatest = std::max(greatest, centre(boxes, i, d));
    }
    if (greatest - least > widest_spread) {
      widest_spread = greatest - least;
      widest = d;
    }
  }
  return widest;
}

/// Orders `part` so that each 16 neighbours are close to each other, and each 16 of those groups, and so on.
/// The depth is the logarithm of the size.
void pack(const BoxList& boxes, std::span<std::uint32_t> part, std::size_t fan_out) {
  if (part.size() <= fan_out) return;
  std::size_t group = fan_out;
  while (group * fan_out < part.size()) group *= fan_out;
  const std::size_t groups = (part.size() + group - 1) / group;
  const std::size_t cut = groups / 2 * group;
  const int d = widest_dimension(boxes, part);
  std::ranges::nth_element(
      part, part.begin() + static_cast<std::ptrdiff_t>(cut),
      [&](std::uint32_t a, std::uint32_t b) { return centre(boxes, a, d) < centre(boxes, b, d); });
  pack(boxes, part.first(cut), fan_out);
  pack(boxes, part.subspan(cut), fan_out);
}

}  // namespace

BoxTree::BoxTree(const BoxList& boxes) : boxes_(boxes.dimensions()) {
  std::vector<std::uint32_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  pack(boxes, order, fan_out);
  for (const std::uint32_t i : order) boxes_.add(boxes.box(i), boxes.id(i));
  boxes_.shrink();
  if (boxes_.size() > 0) build_bounds();
}

void BoxTree::build_bounds() {
  const auto dimensions = static_cast<std::size_t>(boxes_.dimensions());
  const auto enclose = [&](std::vector<std::int64_t>& bounds, std::size_t node, std::size_t d,
                           std::int64_t first, std::int64_t end, bool is_new) {
    std::int64_t* entry = &bounds[(node * dimensions + d) * 2];
    entry[0] = is_new ? first : std::min(entry[0], first);
    entry[1] = is_new ? end : std::max(entry[1], end);
  };
  const auto nodes_above = [](std::size_t n) { return (n + fan_out - 1) / fan_out; };

  std::size_t nodes = nodes_above(boxes_.size());
  bounds_.emplace_back(nodes * dimensions * 2);
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const formats::HyperslabView box = boxes_.box(i);
    for (std::size_t d = 0; d < dimensions; ++d) {
      enclose(bounds_.back(), i / fan_out, d, box.start[d], box.end_of(static_cast<int>(d)),
              i % fan_out == 0);
    }
  }
  while (nodes > 1) {
    const std::size_t below = nodes;
    nodes = nodes_above(below);
    bounds_.emplace_back(nodes * dimensions * 2);
    const std::vector<std::int64_t>& lower = bounds_[bounds_.size() - 2];
    for (std::size_t i = 0; i < below; ++i) {
      for (std::size_t d = 0; d < dimensions; ++d) {
        const std::int64_t* entry = &lower[(i * dimensions + d) * 2];
        enclose(bounds_.back(), i / fan_out, d, entry[0], entry[1], i % fan_out == 0);
      }
    }
  }
}

std::size_t BoxTree::nodes_at(std::size_t level) const noexcept {
  return bounds_[level].size() / 2 / static_cast<std::size_t>(boxes_.dimensions());
}

bool BoxTree::is_near(const Node& node, const formats::HyperslabView& read) const noexcept {
  const auto dimensions = static_cast<std::size_t>(boxes_.dimensions());
  const std::int64_t* entry = &bounds_[node.level][node.index * dimensions * 2];
  for (std::size_t d = 0; d < dimensions; ++d, entry += 2) {
    if (read.start[d] >= entry[1] || read.end_of(static_cast<int>(d)) <= entry[0]) return false;
  }
  return true;
}

}  // namespace sluice::matcher
