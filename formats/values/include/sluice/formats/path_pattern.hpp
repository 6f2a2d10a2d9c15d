#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::formats {

/// The component of a pattern that stands for any number of directories, also for none.
inline constexpr std::string_view any_depth = "**";

/// What one element of a pattern says of a character. An element is '?', "[…]" or an ordinary character.
struct ElementMatch {
  bool covers = false;
  std::size_t after = 0;  ///< where the next element begins
};

/// `at`: where the element begins, within `pattern`. In brackets, a ']' that comes first is a member; '!' or
/// '^' negates; "a-z" is a range of bytes. Without a closing bracket '[' is an ordinary character. No element
/// covers '/'.
[[nodiscard]] ElementMatch match_element(std::string_view pattern, std::size_t at, char character) noexcept;

/// The components of a pattern, as they are compared: without "." and empty ones. "**" at the end stands for
/// what is below a directory at any depth, so it becomes "**" and "*". "**" at the begin says nothing, and is
/// left out, unless the pattern is absolute.
[[nodiscard]] std::vector<std::string_view> pattern_components(std::string_view pattern);

/// Compares a pattern with the last components of a path. Returns where the components begin that the pattern
/// covers: the longest such tail. Returns nothing where it covers none. The time is at most the product of
/// the lengths, times the number of directories where the pattern has "**".
[[nodiscard]] std::optional<std::size_t> covered_tail(std::span<const std::string_view> pattern,
                                                      std::span<const std::string> path);

/// Whether the pattern covers the last components of `path`, which has no "." and "..".
[[nodiscard]] bool covers_path(std::string_view pattern, std::string_view path);

}  // namespace sluice::formats
