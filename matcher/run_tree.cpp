#include "run_tree.hpp"

#include <algorithm>
#include <limits>

namespace sluice::matcher {
namespace {

constexpr std::size_t fan_out = 16;

bool begins_before(const Run& a, const Run& b) noexcept {
  return a.interval.begin < b.interval.begin;
}

/// The largest of each 16 neighbours.
std::vector<std::int64_t> largest_of_blocks(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> largest((values.size() + fan_out - 1) / fan_out);
  for (std::size_t block = 0; block < largest.size(); ++block) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(block * fan_out);
    const auto end =
        values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), (block + 1) * fan_out));
    largest[block] = *std::max_element(first, end);
  }
  return largest;
}

}  // namespace

RunTree::RunTree(std::vector<Run> runs) {
  if (!std::ranges::is_sorted(runs, begins_before)) std::ranges::sort(runs, begins_before);
  begins_.reserve(runs.size());
  ends_.reserve(runs.size());
  ids_.reserve(runs.size());
  std::int64_t largest_end = std::numeric_limits<std::int64_t>::min();
  for (const Run& run : runs) {
    if (ids_.size() % fan_out == 0) largest_ends_before_.push_back(largest_end);
    is_disjoint_ = is_disjoint_ && largest_end <= run.interval.begin;
    largest_end = std::max(largest_end, run.interval.end);
    begins_.push_back(run.interval.begin);
    ends_.push_back(run.interval.end);
    ids_.push_back(run.id);
  }
  while (ends_at(largest_ends_.size()).size() > fan_out) {
    largest_ends_.push_back(largest_of_blocks(ends_at(largest_ends_.size())));
  }
}

const std::vector<std::int64_t>& RunTree::ends_at(std::size_t level) const noexcept {
  return level == 0 ? ends_ : largest_ends_[level - 1];
}

std::size_t RunTree::next_ending_behind(std::int64_t position, std::size_t from) const noexcept {
  // Up, from the rest of a block to the rest of the block above, until one holds an end that is large enough
  // …
  std::size_t level = 0;
  std::size_t i = from;
  while (true) {
    const std::vector<std::int64_t>& ends = ends_at(level);
    const std::size_t stop = std::min(ends.size(), (i / fan_out + 1) * fan_out);
    while (i < stop && ends[i] <= position) ++i;
    if (i < stop) break;
    if (level == largest_ends_.size()) return size();
    i = (i + fan_out - 1) / fan_out;
    ++level;
  }
  // … and down to the first one that has it.
  while (level > 0) {
    --level;
    i *= fan_out;
    const std::vector<std::int64_t>& ends = ends_at(level);
    while (ends[i] <= position) ++i;
  }
  return i;
}

std::size_t RunTree::first_ending_behind(std::int64_t position) noexcept {
  const std::size_t block = last_found_ / fan_out;
  const bool can_continue = block < largest_ends_before_.size() && largest_ends_before_[block] <= position;
  last_found_ = next_ending_behind(position, can_continue ? block * fan_out : 0);
  return last_found_;
}

}  // namespace sluice::matcher
