#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <vector>

#include "box_list.hpp"

namespace sluice::matcher {

/// Boxes of any shape in a packed R-tree (fan-out 16), loaded in bulk. The set of boxes is halved along the
/// dimension in which their centres spread most, down to the leaves (overlap-minimising top-down packing, Lee
/// and Lee 2003, with binary cuts). A node's bounds enclose all indexes of its boxes.
class BoxTree {
 public:
  explicit BoxTree(int dimensions) : boxes_(dimensions) {}
  explicit BoxTree(const BoxList& boxes);

  [[nodiscard]] const BoxList& boxes() const noexcept { return boxes_; }

  /// Calls visit(i) for each box i whose bounds overlap the bounds of `read`. `read` must have elements.
  template <class Visit>
  void visit_near(const formats::HyperslabView& read, Visit visit) const;

 private:
  struct Node {
    std::size_t level = 0;
    std::size_t index = 0;
  };
  void build_bounds();
  [[nodiscard]] std::size_t nodes_at(std::size_t level) const noexcept;
  [[nodiscard]] bool is_near(const Node& node, const formats::HyperslabView& read) const noexcept;

  static constexpr std::size_t fan_out = 16;

  BoxList boxes_;  ///< in leaf order
  std::vector<std::vector<std::int64_t>>
      bounds_;  ///< per level, node and dimension: first index, end index. Level 0: leaves
};

template <class Visit>
void BoxTree::visit_near(const formats::HyperslabView& read, Visit visit) const {
  if (bounds_.empty()) return;
  // Holds at most fan_out nodes of each level.
  boost::container::small_vector<Node, 128> open{Node{bounds_.size() - 1, 0}};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    if (!is_near(node, read)) continue;
    const std::size_t first = node.index * fan_out;
    if (node.level == 0) {
      for (std::size_t i = first; i < std::min(boxes_.size(), first + fan_out); ++i) visit(i);
      continue;
    }
    for (std::size_t i = std::min(nodes_at(node.level - 1), first + fan_out); i-- > first;)
      open.push_back({node.level - 1, i});
  }
}

}  // namespace sluice::matcher
