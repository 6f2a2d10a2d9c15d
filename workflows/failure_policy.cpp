#include "failure_policy.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "schema.hpp"

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

FailurePolicy read_failure_policy(ValueReader& reader, const Section& section) {
  FailurePolicy policy;
  if (const Value* value = section.find("on-failure")) {
    if (const auto word = reader.choice(*value, key_of(KeySection::component, "on-failure").words))
      policy.stops_run = *word == "stop";
  }
  if (const Value* value = section.find("restarts"))
    policy.restarts =
        static_cast<int>(reader.integer(*value, range_of(KeySection::component, "restarts")).value_or(0));
  if (const Value* value = section.find("restart-delay")) {
    const std::string forms = "a time of at most 30 days: 500ms, 1s, 2min, 1h";
    const auto text = reader.text(*value, forms);
    const auto delay = text ? parse_duration(*text) : std::nullopt;
    if (text && !delay) reader.expected(*value, forms);
    if (delay) policy.restart_delay = *delay;
    if (policy.restarts == 0)
      reader.findings().mistake(value->position,
                                value->what + " has no effect: without 'restarts' nothing is started again");
  }
  return policy;
}

}  // namespace sluice::workflows
