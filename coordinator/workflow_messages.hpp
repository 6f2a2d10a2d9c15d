#pragma once
#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The workflow's words in those of the messages.
[[nodiscard]] runtime::PublishAt as_message(workflows::PublishAt publish_at) noexcept;
[[nodiscard]] matcher::Through as_message(workflows::Through through) noexcept;
[[nodiscard]] matcher::Identity as_message(workflows::Identity identity) noexcept;
[[nodiscard]] matcher::PartitionKind as_message(workflows::PartitionBy partition) noexcept;

/// What the matchers are told of the workflow.
[[nodiscard]] runtime::CoordinatorHello hello_for(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
