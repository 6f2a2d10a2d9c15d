#pragma once
#include <string>

namespace sluice::workflows {

/// Variants of a workflow for `sluice verify`; docs/design/verifying-a-run.md. `text` is the workflow file, a
/// valid one. Each returns the text of another workflow file.

/// The workflow with one component (an ensemble with all its members), and without file rules.
[[nodiscard]] std::string with_one_component(const std::string& text, const std::string& component);
/// All rules have `through: file`. Readers find all files there, so they have no modes and no queue; but a
/// stream keeps its keys, and so is a mistake.
[[nodiscard]] std::string with_plain_files(const std::string& text);
/// All rules through memory have `keep: true`.
[[nodiscard]] std::string with_kept_files(const std::string& text);

}  // namespace sluice::workflows
