#include "stop_order.hpp"

#include <algorithm>
#include <map>

namespace sluice::coordinator {
namespace {

using Names = std::set<std::string>;

/// For each component, those whose files reach it, directly or through others.
std::map<std::string, Names> sources_of_all(const workflows::Workflow& workflow) {
  std::map<std::string, Names> sources;
  for (const workflows::FileRule& rule : workflow.files)
    for (const std::string& reader : rule.readers) sources[reader].insert(rule.writer);
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (auto& [name, of_name] : sources) {
      Names more;
      for (const std::string& source : of_name)
        if (const auto found = sources.find(source); found != sources.end())
          more.insert(found->second.begin(), found->second.end());
      const std::size_t before = of_name.size();
      of_name.merge(more);
      has_grown = has_grown || of_name.size() > before;
    }
  }
  return sources;
}

}  // namespace

std::set<std::string> first_to_stop(const workflows::Workflow& workflow) {
  const std::map<std::string, Names> sources = sources_of_all(workflow);
  Names first;
  for (const workflows::Component& component : workflow.components) {
    const auto own = sources.find(component.name);
    const auto is_in_cycle = [&](const std::string& source) {
      const auto found = sources.find(source);
      return source == component.name || (found != sources.end() && found->second.contains(component.name));
    };
    if (own == sources.end() || std::ranges::all_of(own->second, is_in_cycle)) first.insert(component.name);
  }
  return first;
}

}  // namespace sluice::coordinator
