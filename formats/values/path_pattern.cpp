#include "sluice/formats/path_pattern.hpp"

#include <algorithm>

namespace sluice::formats {

namespace {

constexpr std::size_t none = std::string_view::npos;

ElementMatch match_bracket(std::string_view pattern, std::size_t begin, unsigned char value) noexcept {
  std::size_t i = begin;
  const bool is_negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (is_negated) ++i;
  const std::size_t first = i;
  bool is_member = false;
  for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    is_member = is_member || (low <= value && value <= high);
  }
  if (i >= pattern.size()) return {false, none};
  return {is_member != is_negated && value != '/', i + 1};
}

/// Compares two sequences. `is_star(p)`: the pattern's element there covers any part of the sequence.
/// `step(p, n)`: where the pattern goes on when its element at p covers what is at n; npos: it does not.
/// Backtracks only to the last star, which is sufficient.
template <typename IsStar, typename Step>
bool covers_all(std::size_t pattern_size, std::size_t size, const IsStar& is_star, const Step& step) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = none;
  std::size_t star_end = 0;
  while (n < size || p < pattern_size) {
    if (p < pattern_size && is_star(p)) {
      star = p++;
      star_end = n;
      continue;
    }
    const std::size_t next = p < pattern_size && n < size ? step(p, n) : none;
    if (next != none) {
      p = next;
      ++n;
    } else if (star == none || star_end >= size) {
      return false;
    } else {
      p = star + 1;
      n = ++star_end;
    }
  }
  return true;
}

bool covers_name(std::string_view pattern, std::string_view name) {
  return covers_all(
      pattern.size(), name.size(), [&](std::size_t p) { return pattern[p] == '*'; },
      [&](std::size_t p, std::size_t n) {
        const ElementMatch match = match_element(pattern, p, name[n]);
        return match.covers ? match.after : none;
      });
}

bool covers_all_of(std::span<const std::string_view> pattern, std::span<const std::string> path) {
  return covers_all(
      pattern.size(), path.size(), [&](std::size_t p) { return pattern[p] == any_depth; },
      [&](std::size_t p, std::size_t n) { return covers_name(pattern[p], path[n]) ? p + 1 : none; });
}

}  // namespace

ElementMatch match_element(std::string_view pattern, std::size_t at, char character) noexcept {
  if (pattern[at] == '[') {
    const ElementMatch bracket = match_bracket(pattern, at + 1, static_cast<unsigned char>(character));
    if (bracket.after != none) return bracket;
  }
  return {pattern[at] == '?' ? character != '/' : pattern[at] == character, at + 1};
}

std::vector<std::string_view> pattern_components(std::string_view pattern) {
  const bool is_absolute = pattern.starts_with('/');
  std::vector<std::string_view> components;
  while (!pattern.empty()) {
    const std::string_view component = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(std::min(component.size() + 1, pattern.size()));
    const bool says_nothing = component == any_depth && components.empty() && !is_absolute;
    if (component.empty() || component == "." || (says_nothing && !pattern.empty())) continue;
    if (says_nothing)
      components.emplace_back("*");
    else
      components.push_back(component);
  }
  if (!components.empty() && components.back() == any_depth) components.emplace_back("*");
  return components;
}

std::optional<std::size_t> covered_tail(std::span<const std::string_view> pattern,
                                        std::span<const std::string> path) {
  const auto depths = static_cast<std::size_t>(std::ranges::count(pattern, any_depth));
  const std::size_t shortest = pattern.size() - depths;
  if (shortest == 0 || path.size() < shortest) return std::nullopt;
  const std::size_t last = path.size() - shortest;
  for (std::size_t first = depths == 0 ? last : 0; first <= last; ++first)
    if (covers_all_of(pattern, path.subspan(first))) return first;
  return std::nullopt;
}

bool covers_path(std::string_view pattern, std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(component.size() + 1, path.size()));
    if (!component.empty()) components.emplace_back(component);
  }
  return covered_tail(pattern_components(pattern), components).has_value();
}

}  // namespace sluice::formats
