#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "dataset_table.hpp"

namespace sluice::matcher {

/// The images that can be made again: they give up their memory before anything else has to. Also, on which
/// nodes images are asked for.
class SpareImages {
 public:
  SpareImages(DatasetTable& datasets, std::uint32_t nodes) : datasets_(datasets), nodes_(nodes) {}

  /// A program of the node reads files by the C library.
  void want_on(std::uint32_t node) { nodes_[node].are_wanted = true; }
  [[nodiscard]] bool are_wanted_on(std::uint32_t node) const { return nodes_[node].are_wanted; }

  /// The image of the step on the node is ready.
  void add(const Step& step, std::uint32_t node) { nodes_[node].steps.push_back(step.id); }
  /// Destroys the node's oldest image of a step that somebody may still read. Images of consumed steps go
  /// with these. Returns false when there is none.
  bool drop_first(std::uint32_t node);
  /// The step with the node's oldest image, where the node has more images than it should: each is a file of
  /// its own, and takes a descriptor of its matcher. Null when it has not.
  [[nodiscard]] Step* take_surplus(std::uint32_t node);

 private:
  struct Node {
    bool are_wanted = false;
    std::deque<StepId> steps;  ///< in the order of their images; some have none any more
  };
  DatasetTable& datasets_;
  std::vector<Node> nodes_;
};

}  // namespace sluice::matcher
