#include "repeated_opens.hpp"

#include <algorithm>

namespace sluice::matcher {

namespace {

constexpr std::uint32_t most_steps = 3;  // no known program opens its input more often
constexpr std::uint32_t commands_to_tell = 3;

}  // namespace

Opener RepeatedOpens::opener(const Group& group, ProcessId process) {
  return {group.component, process, group.key, group.member.size > 1};
}

void RepeatedOpens::note_taken(const Group& group, std::uint64_t number) {
  for (const auto& [rank, member] : group.members) note_joined(group, member.process, number);
}

void RepeatedOpens::note_joined(const Group& group, ProcessId process, std::uint64_t number) {
  if (group.component->opens_per_step <= 1) return;
  const auto entry = opens_.try_emplace(opener(group, process)).first;
  Opens& opens = entry->second;
  if (opens.number != number) opens = {number, 0};
  if (++opens.count == group.component->opens_per_step) opens_.erase(entry);
}

std::uint64_t RepeatedOpens::present(const Group& group) const {
  const auto found = opens_.find(opener(group, group.members.begin()->second.process));
  return found == opens_.end() ? 0 : found->second.number;
}

bool RepeatedOpens::is_to_open_again(const Group& group, ProcessId process, std::uint64_t number) const {
  const auto found = opens_.find(opener(group, process));
  return found != opens_.end() && found->second.number == number;
}

bool RepeatedOpens::is_wanted(const Place& step, const Component* component) const {
  return std::ranges::any_of(opens_, [&](const auto& entry) {
    const auto& [opener, opens] = entry;
    const bool is_of_component = component == nullptr || opener.component == component;
    return is_of_component && opens.number == step.number && opener.key == step.key;
  });
}

std::vector<RepeatedOpens::Place> RepeatedOpens::forget(const Component& component, ProcessId process) {
  std::vector<Place> places;
  const auto first = opens_.lower_bound({&component, process, {}, false});
  auto last = first;
  for (; last != opens_.end() && last->first.component == &component && last->first.process == process;
       ++last)
    places.push_back({last->first.key, last->second.number});
  opens_.erase(first, last);
  return places;
}

void RepeatedOpens::forget(const Component& component) {
  std::erase_if(opens_, [&](const auto& entry) { return entry.first.component == &component; });
}

void CommandSteps::note_taken(const Component& component, ProcessId process, const DatasetKey& key) {
  const bool is_script = component.processes == 0 && component.opens_per_step <= 1;
  if (is_script) ++taken_[{&component, process, key, false}];
}

std::optional<CommandSteps::Finding> CommandSteps::end(const Component& component, ProcessId process) {
  std::optional<Finding> finding;
  auto taker = taken_.lower_bound({&component, process, {}, false});
  while (taker != taken_.end() && taker->first.component == &component && taker->first.process == process) {
    const DatasetKey key = taker->first.key;
    const std::uint32_t steps = taker->second;
    Series& series = series_[&component][key.rule];
    if (series.steps != steps) series = {steps, 0, series.is_told};
    ++series.commands;
    if (steps > 1 && steps <= most_steps && series.commands == commands_to_tell && !series.is_told) {
      series.is_told = true;
      finding = Finding{key, series.commands, steps};
    }
    taker = taken_.erase(taker);
  }
  return finding;
}

}  // namespace sluice::matcher
