#include "descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "rank_terminals.hpp"

namespace sluice::coordinator {
namespace {

/// The run's own, and those that are out of the way while a child is started (child_process.cpp).
constexpr std::uint64_t own_descriptors = 80;
constexpr std::uint64_t descriptors_of_component = 2;
constexpr std::uint64_t descriptors_of_terminal = 2;

std::uint64_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

std::uint64_t least_descriptors(const workflows::Workflow& workflow) {
  return own_descriptors + descriptors_of_component * workflow.components.size();
}

bool has_room_for_terminals(const workflows::Workflow& workflow) {
  std::uint64_t terminals = 0;
  for (const workflows::Component& component : workflow.components) {
    if (component.ranks <= most_rank_terminals)
      terminals += static_cast<std::uint64_t>(std::max(component.ranks, 0));
  }
  return descriptor_limit() >= least_descriptors(workflow) + descriptors_of_terminal * terminals;
}

std::string descriptor_problem(const workflows::Workflow& workflow) {
  const std::uint64_t limit = descriptor_limit();
  const std::uint64_t least = least_descriptors(workflow);
  if (limit >= least) return "";
  return "the limit on open files is " + std::to_string(limit) + ", and this workflow needs " +
         std::to_string(least) +
         " in sluice alone: raise it, with 'ulimit -n 1024' in the shell before sluice";
}

}  // namespace sluice::coordinator
