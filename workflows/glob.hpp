#pragma once
#include <bitset>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::workflows {

/// One element of a path component's glob: a run of any characters, or one character from a set.
struct GlobElement {
  bool star = false;
  std::bitset<256> characters;  ///< the set of one character; empty for a star
};

/// The glob of one path component. Empty: "**", any number of directories.
using ComponentGlob = std::vector<GlobElement>;

/// The parsed pattern of a file rule: one glob for each of its components (formats/path_pattern.hpp).
/// Wildcards: *, ?, [a-z], [!a-z]; none matches '/'; and "**".
struct Glob {
  std::vector<ComponentGlob> components;
};

/// The error in a pattern.
struct GlobProblem {
  std::string text;
};

/// Parses the pattern of a file rule. The pattern must be relative, without empty, "." or ".." components,
/// unclosed brackets, or "**" within a component.
[[nodiscard]] std::variant<Glob, GlobProblem> parse_glob(std::string_view pattern);

/// The relation of two patterns, each compared with the last components of a path.
enum class GlobRelation {
  disjoint,     ///< the patterns cover no common path
  overlapping,  ///< the patterns cover some common paths
  covered       ///< the first pattern covers every path that the second covers
};
[[nodiscard]] GlobRelation relate(const Glob& first, const Glob& second);

}  // namespace sluice::workflows
