#pragma once
#include <bitset>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::workflows {

/// One element of a path component's glob: any run of characters, or one character out of a set.
struct GlobElement {
  bool star = false;
  std::bitset<256> characters;  ///< of one character; empty for a star
};

/// The glob of one path component.
using ComponentGlob = std::vector<GlobElement>;

/// A file rule's pattern, parsed: one glob a path component. Wildcards: *, ?, [a-z], [!a-z]; none matches
/// '/'.
struct Glob {
  std::vector<ComponentGlob> components;
};

/// What is wrong with a pattern.
struct GlobProblem {
  std::string text;
};

/// Parses the pattern of a file rule: relative, without empty, "." or ".." components, "**", or unclosed
/// brackets.
[[nodiscard]] std::variant<Glob, GlobProblem> parse_glob(std::string_view pattern);

/// How two patterns, each over the trailing components of a path, relate.
enum class GlobRelation {
  disjoint,     ///< no path is covered by both
  overlapping,  ///< some paths are covered by both
  covered       ///< every path that the second covers is covered by the first
};
[[nodiscard]] GlobRelation relate(const Glob& first, const Glob& second);

}  // namespace sluice::workflows
