#include "workflow_messages.hpp"

#include <algorithm>

#include "sluice/matcher/registry.hpp"
#include "sluice/runtime/resolved_path.hpp"

namespace sluice::coordinator {

runtime::PublishAt as_message(workflows::PublishAt publish_at) noexcept {
  switch (publish_at) {
    case workflows::PublishAt::sync:
      return runtime::PublishAt::sync;
    case workflows::PublishAt::write:
      return runtime::PublishAt::write;
    case workflows::PublishAt::close:
      break;
  }
  return runtime::PublishAt::close;
}

matcher::Through as_message(workflows::Through through) noexcept {
  switch (through) {
    case workflows::Through::burst_buffer:
      return matcher::Through::burst_buffer;
    case workflows::Through::subfiles:
      return matcher::Through::subfiles;
    case workflows::Through::blobs:
      return matcher::Through::blobs;
    case workflows::Through::file:
      return matcher::Through::file;
    case workflows::Through::memory:
      break;
  }
  return matcher::Through::memory;
}

matcher::PartitionKind as_message(workflows::PartitionBy partition) noexcept {
  return partition == workflows::PartitionBy::variable ? matcher::PartitionKind::variable
                                                       : matcher::PartitionKind::range;
}

matcher::Identity as_message(workflows::Identity identity) noexcept {
  return identity == workflows::Identity::name ? matcher::Identity::name : matcher::Identity::path;
}

runtime::CoordinatorHello hello_for(const workflows::Workflow& workflow) {
  runtime::CoordinatorHello hello;
  for (const workflows::FileRule& rule : workflow.files) {
    hello.rules.push_back({rule.pattern,
                           rule.writer,
                           rule.readers,
                           rule.replays,
                           as_message(rule.publish_at),
                           as_message(rule.through),
                           as_message(rule.partition),
                           {rule.keep.keeps, rule.keep.variables},
                           as_message(rule.identity)});
  }
  for (const workflows::Component& component : workflow.components) {
    hello.components.push_back({component.name, static_cast<std::uint32_t>(std::max(component.ranks, 0))});
  }
  hello.memory_bytes = workflow.memory_bytes;
  hello.prewarm_bytes = workflow.prewarm_bytes.value_or(matcher::default_warm_bytes(workflow.memory_bytes));
  hello.prewarms_huge_pages_only = !workflow.prewarm_bytes;
  hello.retain_bytes = workflow.retain_bytes.value_or(matcher::default_retain_bytes(workflow.memory_bytes));
  hello.directory = runtime::resolved_path(workflow.file.parent_path().string());
  return hello;
}

}  // namespace sluice::coordinator
