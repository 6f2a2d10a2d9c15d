#pragma once
#include <cstdint>
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
/// end too early. 40 bytes for a run and 1 for the tree.
class RunTree {
 public:
  RunTree() = default;
  explicit RunTree(std::vector<Run> runs);

  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] Interval interval(std::size_t i) const noexcept { return {begins_[i], ends_[i]}; }
  [[nodiscard]] const RequestId& id(std::size_t i) const noexcept { return ids_[i]; }
  /// No two runs overlap.
  [[nodiscard]] bool is_disjoint() const noexcept { return is_disjoint_; }

  /// The first run, from run `from` on, that ends behind `position`; size() when there is none. Costs O(log
  /// distance).
  [[nodiscard]] std::size_t next_ending_behind(std::int64_t position, std::size_t from) const noexcept;
  /// The first run of all that ends behind `position`; quick when the last call was for a position a little
  /// before.
  [[nodiscard]] std::size_t first_ending_behind(std::int64_t position) noexcept;

 private:
  [[nodiscard]] const std::vector<std::int64_t>& ends_at(std::size_t level) const noexcept;

  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
  std::vector<RequestId> ids_;
  std::vector<std::vector<std::int64_t>>
      largest_ends_;  ///< level 0: of 16 runs each, level 1: of 16 entries of level 0, …
  std::vector<std::int64_t>
      largest_ends_before_;  ///< per block of 16 runs: the largest end in all blocks before
  std::size_t last_found_ = 0;
  bool is_disjoint_ = true;
};

}  // namespace sluice::matcher
