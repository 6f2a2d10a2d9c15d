#pragma once
#include <string>

#include "sluice/workflows/workflow.hpp"

namespace sluice::workflows {

/// Variants of a workflow for `sluice verify`; docs/design/verifying-a-run.md. `text` is the workflow file, a
/// valid one. Each returns the text of another workflow file.

/// The workflow with one component (an ensemble with all its members), and without file rules.
[[nodiscard]] std::string with_one_component(const std::string& text, const std::string& component);
/// All rules through memory have `keep: true`.
[[nodiscard]] std::string with_kept_files(const std::string& text);

/// The workflow of `sluice run --through-files`. All files stay on disk, so rules have no queue and no
/// readers of the latest; a reader of every N-th step of a stream remains one.
void pass_through_files(Workflow& workflow);

}  // namespace sluice::workflows
