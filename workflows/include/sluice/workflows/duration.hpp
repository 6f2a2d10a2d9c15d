#pragma once
#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::workflows {

/// Parses "1s", "500ms", "2min", "1h", "1.5 s". Nothing for anything else.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace sluice::workflows
