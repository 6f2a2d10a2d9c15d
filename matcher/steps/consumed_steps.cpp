#include "consumed_steps.hpp"

#include <algorithm>
#include <utility>

namespace sluice::matcher {

namespace {

constexpr std::array media{Medium::memory, Medium::disk};

}  // namespace

ConsumedSteps::ConsumedSteps(std::size_t nodes, std::size_t rules) : by_rule_(rules) {
  for (const Medium medium : media) stores(medium).resize(nodes);
}

void ConsumedSteps::add(Step& step, bool is_expected_again) {
  const ConsumedPlace place{is_expected_again, next_order_++};
  step.consumed_place = place;
  Entry entry{&step, {}};
  BytesByMedium sums = step.bytes_by_medium();
  for (const Medium medium : media) {
    for (const auto& [node, bytes] : entry.bytes.at(index_of(medium)) = std::move(sums.in(medium))) {
      Store& store = stores(medium).at(node);
      store.steps.emplace(place, &step);
      store.bytes += bytes;
    }
  }
  if (std::ranges::all_of(entry.bytes, &NodeBytes::empty) && !step.is_in_files)
    without_data_.emplace(place, &step);
  by_rule_.at(step.key.rule).emplace(place, std::move(entry));
}

void ConsumedSteps::remove(Step& step) {
  const auto entry = by_rule_.at(step.key.rule).extract(*std::exchange(step.consumed_place, std::nullopt));
  without_data_.erase(entry.key());
  for (const Medium medium : media) {
    for (const auto& [node, bytes] : entry.mapped().bytes.at(index_of(medium))) {
      Store& store = stores(medium).at(node);
      store.steps.erase(entry.key());
      store.bytes -= bytes;
    }
  }
}

std::vector<Step*> ConsumedSteps::steps_of(std::uint32_t rule) const {
  std::vector<Step*> steps;
  for (const auto& [place, entry] : by_rule_.at(rule)) steps.push_back(entry.step);
  return steps;
}

Step* ConsumedSteps::first_on(std::uint32_t node, Medium medium) const {
  const Order& steps = stores(medium).at(node).steps;
  return steps.empty() ? nullptr : steps.begin()->second;
}

Step* ConsumedSteps::first_spare_on(std::uint32_t node, Medium medium) const {
  for (const auto& [place, step] : stores(medium).at(node).steps) {
    if (place.is_expected_again) return nullptr;
    if (by_rule_.at(step->key.rule).size() > 1) return step;
  }
  return nullptr;
}

Step* ConsumedSteps::first_spare_of(std::uint32_t rule) const {
  const Rule& steps = by_rule_.at(rule);
  if (steps.size() < 2 || steps.begin()->first.is_expected_again) return nullptr;
  return steps.begin()->second.step;
}

Step* ConsumedSteps::first_spare_without_data(std::size_t most) const {
  if (without_data_.size() <= most) return nullptr;
  for (const auto& [place, step] : without_data_) {
    if (place.is_expected_again) return nullptr;
    if (by_rule_.at(step->key.rule).size() > 1) return step;
  }
  return nullptr;
}

std::uint64_t ConsumedSteps::bytes_on(std::uint32_t node, Medium medium) const {
  return stores(medium).at(node).bytes;
}

std::uint64_t ConsumedSteps::most_bytes(Medium medium) const {
  return std::ranges::max(stores(medium), {}, &Store::bytes).bytes;
}

}  // namespace sluice::matcher
