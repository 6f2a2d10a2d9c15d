#include "sluice/workflows/duration.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace sluice::workflows {
namespace {

using namespace std::string_view_literals;

/// Names of units, and their milliseconds.
constexpr std::array time_units{std::pair{"ms"sv, 1.0}, std::pair{"s"sv, 1e3}, std::pair{"min"sv, 60e3},
                                std::pair{"h"sv, 3600e3}};
constexpr double longest_ms = 30 * 24 * 3600e3;

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(end - rest));
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const auto& [unit, unit_ms] : time_units) {
    if (unit != name) continue;
    const double milliseconds = number * unit_ms;
    if (milliseconds > longest_ms) return std::nullopt;
    return std::chrono::milliseconds(std::llround(milliseconds));
  }
  return std::nullopt;
}

}  // namespace sluice::workflows
