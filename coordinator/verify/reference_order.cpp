#include "reference_order.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::FileRule;
using workflows::Workflow;

const std::string& name_in_file(const Component& component) {
  return component.ensemble.empty() ? component.name : component.ensemble;
}

std::string need_for_all_at_once(const Workflow& workflow) {
  for (const Component& component : workflow.components) {
    if (component.for_each) return component.name + " runs for each file";
  }
  for (const FileRule& rule : workflow.files) {
    if (rule.is_stream) return "its readers go through the steps of " + rule.pattern;
  }
  if (!workflows::find_cycles(workflow).empty()) return "the components read each other's files";
  return {};
}

}  // namespace

ReferenceOrder order_for_reference(const Workflow& workflow) {
  ReferenceOrder order;
  order.reason = need_for_all_at_once(workflow);
  if (!order.reason.empty()) return order;
  std::map<std::string, std::set<std::string>> writers;
  std::vector<std::string> names;
  std::map<std::string, std::string> named;
  for (const Component& component : workflow.components) {
    const std::string& name = name_in_file(component);
    named[component.name] = name;
    if (writers.try_emplace(name).second) names.push_back(name);
  }
  for (const Component& component : workflow.components) {
    for (const std::string& writer : workflows::writers_for(workflow, component.name))
      if (named[writer] != named[component.name]) writers[named[component.name]].insert(named[writer]);
  }
  // There is no cycle among components. Members of two ensembles could still make one among the names.
  while (!names.empty()) {
    const auto next =
        std::ranges::find_if(names, [&](const std::string& name) { return writers[name].empty(); });
    if (next == names.end()) return {{}, "the ensembles read each other's files"};
    for (auto& [name, left] : writers) left.erase(*next);
    order.components.push_back(*next);
    names.erase(next);
  }
  return order;
}

}  // namespace sluice::coordinator
