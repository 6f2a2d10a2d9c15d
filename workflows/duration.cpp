#include "sluice/workflows/duration.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace sluice::workflows {
namespace {

struct TimeUnit {
  std::string_view name;
  double milliseconds;
};

constexpr std::array time_units{TimeUnit{"ms", 1}, TimeUnit{"s", 1e3}, TimeUnit{"min", 60e3},
                                TimeUnit{"h", 3600e3}};
constexpr double longest_ms = 30 * 24 * 3600e3;

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(end - rest));
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const TimeUnit& unit : time_units) {
    if (unit.name != name) continue;
    const double milliseconds = number * unit.milliseconds;
    if (milliseconds > longest_ms) return std::nullopt;
    return std::chrono::milliseconds(std::llround(milliseconds));
  }
  return std::nullopt;
}

}  // namespace sluice::workflows
