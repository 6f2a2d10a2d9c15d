#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mistakes.hpp"
#include "sluice/workflows/workflow.hpp"
#include "yaml_value.hpp"

namespace sluice::workflows {

/// Ensembles: components with `instances: N`. A component is expanded into its members, "model.0" to
/// "model.99", and a rule into the rules of the members. Everything behind the parser knows members only.
/// docs/design/components.md

/// Whether the text contains {instance}, or {instance:03}, or something that begins like these.
[[nodiscard]] bool has_instance(std::string_view text) noexcept;
/// Whether one of them is neither {instance} nor of the form {instance:03}.
[[nodiscard]] bool has_wrong_instance(std::string_view text);
/// The text with the number in place of {instance}; {instance:03} has at least three digits.
[[nodiscard]] std::string with_instance(std::string_view text, int instance);

/// The component of a reader that means all its members, "post.*"; other names as they are.
[[nodiscard]] std::string without_all_members(std::string_view reader);

/// Checks `instances` and `at-most` of a component, and the use of {instance} in its values.
void check_ensemble_keys(ValueReader& reader, const Section& section, Component& component);

/// Replaces each component that is an ensemble by its members, and {instance} in all of them.
[[nodiscard]] std::vector<Component> expand_components(const std::vector<Component>& components,
                                                       Findings& findings);

/// Makes of a rule of the workflow file the rules that it stands for. `components`: all of them, expanded.
/// Mistakes are told to `findings`, which must outlive the function.
[[nodiscard]] std::function<std::vector<FileRule>(const FileRule&)> rule_expander(
    const std::vector<Component>& components, Findings& findings);

}  // namespace sluice::workflows
