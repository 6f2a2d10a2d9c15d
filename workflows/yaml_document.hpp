#pragma once
#include <yaml-cpp/yaml.h>

#include <optional>
#include <string_view>

#include "mistakes.hpp"

namespace sluice::workflows {

/// A workflow file is read whole; a longer one is none.
inline constexpr std::size_t longest_file_bytes = std::size_t{1} << 20;

/// The place of the byte at `offset`.
[[nodiscard]] Position position_at(std::string_view text, std::size_t offset);

/// The one YAML document in `text`. What is no text, no YAML, or not exactly one document becomes a mistake,
/// and the result is empty.
[[nodiscard]] std::optional<YAML::Node> load_yaml(std::string_view text, Findings& findings);

}  // namespace sluice::workflows
