#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/matcher/matcher_place.hpp"
#include "sluice/runtime/matcher_choice.hpp"

namespace sluice::runtime {

/// Maps matcher ranks to nodes. The ranks of one node need not be successive.
class NodeMap {
 public:
  /// One matcher, one node.
  NodeMap() : NodeMap(std::vector<std::uint32_t>{0}, 1) {}
  /// `host_of_rank`: for each rank a number that is the same for all ranks of one machine. `virtual_nodes` >
  /// 1: all ranks are on one machine, which is divided into this many nodes, each with the same number of
  /// successive matchers. Throws Error(NC_EINVAL) when the ranks are on several machines, or
  /// cannot be divided evenly.
  NodeMap(std::span<const std::uint32_t> host_of_rank, std::uint32_t virtual_nodes);

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  [[nodiscard]] std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] matcher::MatcherPlace place_of(std::uint32_t rank) const { return ranks_.at(rank).place; }
  /// Throws Error(NC_EIO) when the matcher does not exist.
  [[nodiscard]] std::uint32_t rank_of(matcher::MatcherPlace place) const;
  /// The ranks of a node's matchers, by their index.
  [[nodiscard]] const std::vector<std::uint32_t>& matchers_of(std::uint32_t node) const {
    return nodes_.at(node);
  }
  /// The index of a rank among the matchers of its machine; part of its socket's name.
  [[nodiscard]] std::uint32_t index_on_host(std::uint32_t rank) const {
    return ranks_.at(rank).index_on_host;
  }

 private:
  struct Rank {
    matcher::MatcherPlace place;
    std::uint32_t index_on_host = 0;
  };
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::uint32_t>> nodes_;
};

}  // namespace sluice::runtime
