#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// Consumed steps in the order in which their memory is reclaimed. A long run may have very many steps
/// without memory, for example small files that tell a writer to continue. They slow down no function except
/// steps_of().
class ConsumedSteps {
 public:
  ConsumedSteps(std::size_t nodes, std::size_t rules);

  /// Sets Step::consumed_place.
  void add(Step& step, bool is_expected_again);
  /// Clears Step::consumed_place.
  void remove(Step& step);
  [[nodiscard]] std::vector<Step*> steps_of(std::uint32_t rule) const;

  /// The first step with data on the node; null when there is none.
  [[nodiscard]] Step* first_on(std::uint32_t node, Medium medium) const;
  /// The first step with data on the node that is not expected to be opened again, and whose rule has other
  /// steps here.
  [[nodiscard]] Step* first_spare_on(std::uint32_t node, Medium medium) const;
  /// The first step of the rule that is not expected to be opened again, if the rule has other steps.
  [[nodiscard]] Step* first_spare_of(std::uint32_t rule) const;
  /// The same for steps that hold no data, of any rule, if there are more than `most` of these.
  [[nodiscard]] Step* first_spare_without_data(std::size_t most) const;
  [[nodiscard]] std::uint64_t bytes_on(std::uint32_t node, Medium medium) const;
  /// The largest value of bytes_on() on any node.
  [[nodiscard]] std::uint64_t most_bytes(Medium medium) const;

 private:
  using Order = std::map<ConsumedPlace, Step*>;
  struct Store {
    Order steps;
    std::uint64_t bytes = 0;
  };
  struct Entry {
    Step* step = nullptr;
    std::array<NodeBytes, 2> bytes;  ///< by medium, at the time of adding
  };
  using Rule = std::map<ConsumedPlace, Entry>;

  [[nodiscard]] static constexpr std::size_t index_of(Medium medium) noexcept {
    return static_cast<std::size_t>(medium);
  }
  [[nodiscard]] std::vector<Store>& stores(Medium medium) { return by_medium_[index_of(medium)]; }
  [[nodiscard]] const std::vector<Store>& stores(Medium medium) const { return by_medium_[index_of(medium)]; }

  std::array<std::vector<Store>, 2> by_medium_;  ///< by node
  std::vector<Rule> by_rule_;
  Order without_data_;
  std::uint64_t next_order_ = 1;
};

}  // namespace sluice::matcher
