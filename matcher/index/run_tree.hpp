#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "box_list.hpp"
#include "linearisation.hpp"

namespace sluice::matcher {

/// A write request that is one interval of linear positions.
struct Run {
  Interval interval;
  RequestId id;
};

/// Runs sorted by their begins. A tree of the largest ends over them (fan-out 16) skips runs that end too
/// early. A run takes 40 bytes, its share of the tree one more.
class RunTree {
 public:
  static constexpr std::size_t fan_out = 16;

  RunTree() = default;
  explicit RunTree(std::vector<Run> runs);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Interval interval(std::size_t i) const noexcept {
    const Block& block = blocks_[i / fan_out];
    return {block.begins[i % fan_out], block.ends[i % fan_out]};
  }
  [[nodiscard]] const RequestId& id(std::size_t i) const noexcept {
    return blocks_[i / fan_out].ids[i % fan_out];
  }
  /// No two runs overlap.
  [[nodiscard]] bool is_disjoint() const noexcept { return is_disjoint_; }

  /// The first run from run `from` on that ends behind `position`; size() when there is none. Costs O(log
  /// distance).
  [[nodiscard]] std::size_t next_ending_behind(std::int64_t position, std::size_t from) const noexcept;
  /// The first of all runs that ends behind `position`. Quick when the last call had a slightly smaller
  /// position.
  [[nodiscard]] std::size_t first_ending_behind(std::int64_t position) noexcept;

 private:
  /// The search data of 16 runs, side by side, because runs are seldom in a cache.
  struct Block {
    Block() { ends.fill(std::numeric_limits<std::int64_t>::min()); }
    std::array<std::int64_t, fan_out> ends;
    std::array<std::int64_t, fan_out> begins;
    std::array<RequestId, fan_out> ids;
  };
  /// 16 ends: of the runs of a block (level 0), or the largest ends of 16 nodes of the level below.
  struct Node {
    std::size_t level = 0;
    std::size_t index = 0;
  };

  void build_levels();
  [[nodiscard]] const std::int64_t* ends_of(const Node& node) const noexcept;
  /// The first run with an end behind `position` below entry `offset` of `node`; the entry must have one.
  [[nodiscard]] std::size_t descend(Node node, std::size_t offset, std::int64_t position) const noexcept;

  std::vector<Block> blocks_;
  std::vector<std::vector<std::int64_t>> largest_ends_;  ///< for levels 1, 2, …; 16 entries for each node
  std::vector<std::int64_t> largest_ends_before_;  ///< for each block: the largest end in all blocks before
  std::size_t size_ = 0;
  std::size_t last_found_ = 0;
  bool is_disjoint_ = true;
};

}  // namespace sluice::matcher
