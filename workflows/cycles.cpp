#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "sluice/workflows/workflow.hpp"

namespace sluice::workflows {
namespace {

using Successors = std::map<std::string, std::set<std::string>>;

/// Takes out all who write for nobody, and then those who wrote for these alone, until each has a reader.
void remove_ends(Successors& successors) {
  Successors writers;
  for (const auto& [writer, readers] : successors)
    for (const std::string& reader : readers) writers[reader].insert(writer);
  std::deque<std::string> ends;
  for (const auto& [reader, of] : writers)
    if (!successors.contains(reader)) ends.push_back(reader);
  for (; !ends.empty(); ends.pop_front()) {
    for (const std::string& writer : writers[ends.front()]) {
      const auto left = successors.find(writer);
      left->second.erase(ends.front());
      if (!left->second.empty()) continue;
      successors.erase(left);
      ends.push_back(writer);
    }
  }
}

/// The shortest path from `start` back to `start`; empty if there is none.
Cycle shortest_cycle(const Successors& successors, const std::string& start) {
  std::map<std::string, std::string> reached_from;
  std::deque<std::string> queue{start};
  for (; !queue.empty(); queue.pop_front()) {
    const std::string at = queue.front();
    const auto next = successors.find(at);
    if (next == successors.end()) continue;
    for (const std::string& reader : next->second) {
      if (reader == start) {
        Cycle cycle;
        for (std::string step = at; step != start; step = reached_from.at(step)) cycle.push_back(step);
        cycle.push_back(start);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      if (reached_from.emplace(reader, at).second) queue.push_back(reader);
    }
  }
  return {};
}

}  // namespace

std::vector<Cycle> find_cycles(const Workflow& workflow) {
  Successors successors;
  for (const FileRule& rule : workflow.files) {
    for (const std::string& reader : rule.readers) {
      if (reader != rule.writer) successors[rule.writer].insert(reader);
    }
  }
  remove_ends(successors);
  std::vector<Cycle> cycles;
  std::set<std::string> named;
  for (const Component& component : workflow.components) {
    if (named.contains(component.name)) continue;
    Cycle cycle = shortest_cycle(successors, component.name);
    if (cycle.empty()) continue;
    named.insert(cycle.begin(), cycle.end());
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

}  // namespace sluice::workflows
