#include "run_tree.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "sorted_order.hpp"

namespace sluice::matcher {
namespace {

constexpr std::size_t fan_out = RunTree::fan_out;

/// Less than any end: marks unused entries.
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::min();

bool begins_before(const Run& a, const Run& b) noexcept {
  return a.interval.begin < b.interval.begin;
}

void sort_runs(std::vector<Run>& runs) {
  if (std::ranges::is_sorted(runs, begins_before)) return;
  std::vector<Run> sorted;
  sorted.reserve(runs.size());
  const auto order = sorted_order(runs.size(), [&](std::uint32_t i) { return runs[i].interval.begin; });
  for (const std::uint32_t i : order) sorted.push_back(runs[i]);
  runs = std::move(sorted);
}

/// Index of the first of 16 values that is larger than `bound`; 16 when there is none. Has no branches that
/// depend on the values, because they would be unpredictable.
std::size_t first_larger(const std::int64_t* values, std::int64_t bound) noexcept {
  std::uint32_t larger = std::uint32_t{1} << fan_out;
  for (std::size_t k = 0; k < fan_out; ++k) larger |= static_cast<std::uint32_t>(values[k] > bound) << k;
  return static_cast<std::size_t>(std::countr_zero(larger));
}

constexpr std::size_t nodes_for(std::size_t entries) noexcept {
  return (entries + fan_out - 1) / fan_out;
}

}  // namespace

RunTree::RunTree(std::vector<Run> runs) : blocks_(nodes_for(runs.size())), size_(runs.size()) {
  sort_runs(runs);
  std::int64_t largest_end = no_end;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (i % fan_out == 0) largest_ends_before_.push_back(largest_end);
    is_disjoint_ = is_disjoint_ && largest_end <= run.interval.begin;
    largest_end = std::max(largest_end, run.interval.end);
    Block& block = blocks_[i / fan_out];
    block.begins[i % fan_out] = run.interval.begin;
    block.ends[i % fan_out] = run.interval.end;
    block.ids[i % fan_out] = run.id;
  }
  build_levels();
}

void RunTree::build_levels() {
  for (std::size_t nodes = blocks_.size(); nodes > 1; nodes = nodes_for(nodes)) {
    std::vector<std::int64_t> largest(nodes_for(nodes) * fan_out, no_end);
    const std::size_t level = largest_ends_.size();
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::int64_t* ends = ends_of({level, node});
      largest[node] = *std::max_element(ends, ends + fan_out);
    }
    largest_ends_.push_back(std::move(largest));
  }
}

const std::int64_t* RunTree::ends_of(const Node& node) const noexcept {
  return node.level == 0 ? blocks_[node.index].ends.data()
                         : &largest_ends_[node.level - 1][node.index * fan_out];
}

std::size_t RunTree::next_ending_behind(std::int64_t position, std::size_t from) const noexcept {
  // Go up: from the rest of a node to the nodes behind it, until one has a large enough end.
  Node node{0, from / fan_out};
  std::size_t offset = from % fan_out;
  std::size_t nodes = blocks_.size();
  while (node.index < nodes) {
    const std::int64_t* ends = ends_of(node);
    while (offset < fan_out && ends[offset] <= position) ++offset;
    if (offset < fan_out) return descend(node, offset, position);
    if (node.level == largest_ends_.size()) break;
    offset = (node.index + 1) % fan_out;
    node = {node.level + 1, (node.index + 1) / fan_out};
    nodes = nodes_for(nodes);
  }
  return size();
}

std::size_t RunTree::descend(Node node, std::size_t offset, std::int64_t position) const noexcept {
  while (node.level > 0) {
    node = {node.level - 1, node.index * fan_out + offset};
    offset = first_larger(ends_of(node), position);
  }
  return node.index * fan_out + offset;
}

std::size_t RunTree::first_ending_behind(std::int64_t position) noexcept {
  if (blocks_.empty()) return 0;
  // In the block of the last answer or the next one?
  const std::size_t block = last_found_ / fan_out;
  for (std::size_t b = block; b < block + 2 && b + 1 < blocks_.size(); ++b) {
    if (largest_ends_before_[b] > position || largest_ends_before_[b + 1] <= position) continue;
    last_found_ = descend({0, b}, first_larger(blocks_[b].ends.data(), position), position);
    return last_found_;
  }
  const Node top{largest_ends_.size(), 0};
  const std::size_t offset = first_larger(ends_of(top), position);
  if (offset == fan_out) return size();
  last_found_ = descend(top, offset, position);
  return last_found_;
}

}  // namespace sluice::matcher
