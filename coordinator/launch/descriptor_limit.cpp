#include "descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "rank_terminals.hpp"

namespace sluice::coordinator {
namespace {

/// The run's own descriptors, and those that are moved away while a child starts (child_process.cpp).
constexpr std::uint64_t own_descriptors = 80;
constexpr std::uint64_t descriptors_of_component = 2;
constexpr std::uint64_t descriptors_of_terminal = 2;

std::uint64_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// Other members of an ensemble take the place of those that have ended.
bool runs_at_first(const workflows::Component& component) {
  return component.at_most == 0 || component.instance < component.at_most;
}

}  // namespace

std::uint64_t least_descriptors(const workflows::Workflow& workflow) {
  std::uint64_t processes = 0;
  for (const workflows::Component& component : workflow.components) {
    if (component.for_each) {
      processes += static_cast<std::uint64_t>(component.for_each->at_most);
    } else if (runs_at_first(component)) {
      ++processes;
    }
  }
  return own_descriptors + descriptors_of_component * processes;
}

bool can_have_terminals(const workflows::Workflow& workflow) {
  std::uint64_t terminals = 0;
  for (const workflows::Component& component : workflow.components) {
    if (component.ranks <= most_rank_terminals && runs_at_first(component) && !component.for_each)
      terminals += static_cast<std::uint64_t>(std::max(component.ranks, 0));
  }
  return descriptor_limit() >= least_descriptors(workflow) + descriptors_of_terminal * terminals;
}

std::string descriptor_problem(const workflows::Workflow& workflow) {
  const std::uint64_t limit = descriptor_limit();
  const std::uint64_t least = least_descriptors(workflow);
  if (limit >= least) return "";
  return "the limit on open files is " + std::to_string(limit) + ", but sluice itself needs " +
         std::to_string(least) +
         " for this workflow. Raise the limit with 'ulimit -n 1024' in the shell "
         "before you start sluice";
}

}  // namespace sluice::coordinator
