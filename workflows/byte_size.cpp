#include "sluice/workflows/byte_size.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace sluice::workflows {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array units{
    Unit{"", 1},         Unit{"B", 1},           Unit{"kB", 1e3},           Unit{"KB", 1e3},
    Unit{"MB", 1e6},     Unit{"GB", 1e9},        Unit{"TB", 1e12},          Unit{"KiB", 1024.0},
    Unit{"kiB", 1024.0}, Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0}, Unit{"TiB", 1099511627776.0},
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  text = trim(text);
  std::uint64_t whole = 0;
  const char* const end = text.data() + text.size();
  if (const auto [rest, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && rest == end) {
    return whole <= static_cast<std::uint64_t>(INT64_MAX) ? std::optional(whole) : std::nullopt;
  }
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view name = trim(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    const double bytes = number * unit.bytes;
    if (bytes >= 9.2e18) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(bytes));
  }
  return std::nullopt;
}

std::string near_byte_size(std::string_view text) {
  text = trim(text);
  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
  std::string unit;
  for (const char c : trim(text.substr(number.size())))
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (number.empty() || unit.empty()) return {};
  for (const std::string_view known : {"KiB", "MiB", "GiB", "TiB"}) {
    const std::string letter(1, static_cast<char>(std::tolower(static_cast<unsigned char>(known.front()))));
    const bool is_meant = unit == letter || unit.starts_with(letter + "b") ||
                          unit.starts_with(letter + "i") || unit.ends_with("bytes");
    if (unit.starts_with(letter) && is_meant) return std::string(number) + std::string(known);
  }
  return {};
}

}  // namespace sluice::workflows
