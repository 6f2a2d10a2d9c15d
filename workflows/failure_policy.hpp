#pragma once
#include "sluice/workflows/duration.hpp"
#include "sluice/workflows/workflow.hpp"
#include "yaml_value.hpp"

namespace sluice::workflows {

/// Reads `on-failure`, `restarts` and `restart-delay` of a component.
[[nodiscard]] FailurePolicy read_failure_policy(ValueReader& reader, const Section& section);

}  // namespace sluice::workflows
