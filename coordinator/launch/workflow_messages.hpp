#pragma once
#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The message that describes the workflow to the matchers.
[[nodiscard]] runtime::CoordinatorHello hello_for(const workflows::Workflow& workflow);

}  // namespace sluice::coordinator
