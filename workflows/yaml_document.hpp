#pragma once
#include <yaml-cpp/yaml.h>

#include <optional>
#include <string_view>

#include "mistakes.hpp"

namespace sluice::workflows {

/// The maximum length of a workflow file, which is read whole.
inline constexpr std::size_t longest_file_bytes = std::size_t{1} << 20;

/// The line and column of the byte at `offset`.
[[nodiscard]] Position position_at(std::string_view text, std::size_t offset);

/// Loads the YAML document in `text`. Reports a mistake and returns nothing if the input is not text, not
/// YAML, or not exactly one document.
[[nodiscard]] std::optional<YAML::Node> load_yaml(std::string_view text, Findings& findings);

}  // namespace sluice::workflows
