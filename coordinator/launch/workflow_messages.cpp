#include "workflow_messages.hpp"

#include <algorithm>
#include <set>

#include "exposer.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/runtime/resolved_path.hpp"

namespace sluice::coordinator {

runtime::CoordinatorHello hello_for(const workflows::Workflow& workflow) {
  runtime::CoordinatorHello hello;
  hello.rules.assign(workflow.files.begin(), workflow.files.end());  // without their positions
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    if (workflow.files[i].exposes) hello.rules[i].readers.emplace_back(exposer_component);
  }
  if (exposes_files(workflow)) hello.components.push_back({std::string(exposer_component), 1});
  for (const workflows::Component& component : workflow.components) {
    const auto ranks = static_cast<std::uint32_t>(std::max(component.ranks, 0));
    const std::optional<workflows::ForEach>& jobs = component.for_each;
    // Each job has other processes.
    runtime::ComponentSize& size = hello.components.emplace_back(runtime::ComponentSize{
        component.name, jobs ? 0 : ranks, static_cast<std::uint32_t>(component.failure.restarts),
        component.opens_per_step});
    size.ensemble = component.ensemble;
    size.at_most = static_cast<std::uint32_t>(component.at_most);
    if (component.starts_when_done) {
      const std::set<std::string> writers = workflows::writers_for(workflow, component.name);
      size.after.assign(writers.begin(), writers.end());
    }
    if (!jobs) continue;
    hello.job_readers.push_back(
        {component.name, jobs->rule, static_cast<std::uint32_t>(jobs->at_most), std::max(ranks, 1U)});
  }
  hello.memory_bytes = workflow.memory_bytes;
  hello.prewarm_bytes = workflow.prewarm_bytes.value_or(matcher::default_warm_bytes(workflow.memory_bytes));
  hello.prewarms_huge_pages_only = !workflow.prewarm_bytes;
  hello.retain_bytes = workflow.retain_bytes.value_or(matcher::default_retain_bytes(workflow.memory_bytes));
  hello.directory = runtime::resolved_path(workflow.file.parent_path().string());
  return hello;
}

}  // namespace sluice::coordinator
