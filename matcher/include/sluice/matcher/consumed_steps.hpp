#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// The steps of which nobody needs the memory, in the order in which that is taken. There may be very many
/// that have none (a small file that tells a writer to go on, in each step of a long run): nothing here takes
/// longer for them.
class ConsumedSteps {
 public:
  ConsumedSteps(std::size_t nodes, std::size_t rules);

  /// Sets Step::consumed_place.
  void add(Step& step, bool is_expected_again);
  /// Clears Step::consumed_place.
  void remove(Step& step);
  [[nodiscard]] std::vector<Step*> steps_of(std::uint32_t rule) const;

  /// The first with data on the node. None: null.
  [[nodiscard]] Step* first_on(std::uint32_t node, Medium medium) const;
  /// The first with data on the node that its rule has others of, and that is not expected to be opened
  /// again.
  [[nodiscard]] Step* first_spare_on(std::uint32_t node, Medium medium) const;
  /// The first of the rule that is not expected to be opened again, where the rule has others.
  [[nodiscard]] Step* first_spare_of(std::uint32_t rule) const;
  [[nodiscard]] std::uint64_t bytes_on(std::uint32_t node, Medium medium) const;
  /// The largest bytes_on() of all nodes.
  [[nodiscard]] std::uint64_t most_bytes(Medium medium) const;

 private:
  using Order = std::map<ConsumedPlace, Step*>;
  struct Store {
    Order steps;
    std::uint64_t bytes = 0;
  };
  struct Entry {
    Step* step = nullptr;
    std::array<NodeBytes, 2> bytes;  ///< by medium, as they were when it was added
  };
  using Rule = std::map<ConsumedPlace, Entry>;

  [[nodiscard]] static constexpr std::size_t index_of(Medium medium) noexcept {
    return static_cast<std::size_t>(medium);
  }
  [[nodiscard]] std::vector<Store>& stores(Medium medium) { return by_medium_[index_of(medium)]; }
  [[nodiscard]] const std::vector<Store>& stores(Medium medium) const { return by_medium_[index_of(medium)]; }

  std::array<std::vector<Store>, 2> by_medium_;  ///< by node
  std::vector<Rule> by_rule_;
  std::uint64_t next_order_ = 1;
};

}  // namespace sluice::matcher
