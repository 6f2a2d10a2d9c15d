#include "connection_table.hpp"

#include <algorithm>

namespace sluice::runtime {

void ConnectionTable::add(const ConnectionId& id, matcher::ProcessId process, const std::string& component,
                          bool is_for_file) {
  auto name = std::ranges::find(components_, component);
  if (name == components_.end()) name = components_.insert(name, component);
  if (id.matcher >= by_matcher_.size()) by_matcher_.resize(id.matcher + 1U);
  const auto number = static_cast<std::uint32_t>(name - components_.begin());
  by_matcher_[id.matcher].set(id.connection, {process, number, is_for_file});
}

const Connection* ConnectionTable::find(const ConnectionId& id) const noexcept {
  return id.matcher < by_matcher_.size() ? by_matcher_[id.matcher].find(id.connection) : nullptr;
}

ConnectionTable::Walk ConnectionTable::walk(std::uint32_t matcher) const noexcept {
  static const OfMatcher none;
  return Walk(matcher < by_matcher_.size() ? by_matcher_[matcher] : none);
}

std::optional<Connection> ConnectionTable::remove(const ConnectionId& id) {
  const Connection* const found = find(id);
  if (found == nullptr) return std::nullopt;
  const Connection removed = *found;
  by_matcher_[id.matcher].erase(id.connection);
  return removed;
}

void ConnectionTable::remove_of(const std::string& component) {
  for (auto& connections : by_matcher_) {
    std::vector<std::uint64_t> ended;
    for (const auto& entry : connections)
      if (component_name(entry.value) == component) ended.push_back(entry.key);
    for (const std::uint64_t connection : ended) connections.erase(connection);
  }
}

std::optional<std::uint64_t> ConnectionTable::of_process(std::uint32_t matcher,
                                                         matcher::ProcessId process) const {
  if (matcher >= by_matcher_.size()) return std::nullopt;
  for (const auto& entry : by_matcher_[matcher])
    if (entry.value.process == process && !entry.value.is_for_file) return entry.key;
  return std::nullopt;
}

}  // namespace sluice::runtime
