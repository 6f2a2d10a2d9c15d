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

/// Runs sorted by where they begin, with a tree of the largest ends over them (fan-out 16) to skip those that
/// end too early. A run takes 40 bytes, the tree one more.
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

  /// The first run, from run `from` on, that ends behind `position`; size() when there is none. Costs O(log
  /// distance).
  [[nodiscard]] std::size_t next_ending_behind(std::int64_t position, std::size_t from) const noexcept;
  /// The first run of all that ends behind `position`; quick when the last call was for a position a little
  /// before.
  [[nodiscard]] std::size_t first_ending_behind(std::int64_t position) noexcept;

 private:
  /// 16 runs, all that a search needs of them side by side: they are seldom in a cache.
  struct Block {
    Block() { ends.fill(std::numeric_limits<std::int64_t>::min()); }
    std::array<std::int64_t, fan_out> ends;
    std::array<std::int64_t, fan_out> begins;
    std::array<RequestId, fan_out> ids;
  };
  /// 16 ends: of the runs of a block (level 0), or the largest ones of 16 nodes of the level below.
  struct Node {
    std::size_t level = 0;
    std::size_t index = 0;
  };

  void build_levels();
  [[nodiscard]] const std::int64_t* ends_of(const Node& node) const noexcept;
  /// The first run with an end behind `position` below entry `offset` of `node`, which has one.
  [[nodiscard]] std::size_t descend(Node node, std::size_t offset, std::int64_t position) const noexcept;

  std::vector<Block> blocks_;
  std::vector<std::vector<std::int64_t>> largest_ends_;  ///< of levels 1, 2, …; 16 entries for each node
  std::vector<std::int64_t> largest_ends_before_;        ///< per block: the largest end in all blocks before
  std::size_t size_ = 0;
  std::size_t last_found_ = 0;
  bool is_disjoint_ = true;
};

}  // namespace sluice::matcher
