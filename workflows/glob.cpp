#include "glob.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace sluice::workflows {
namespace {

constexpr std::size_t longest_pattern = 1024;

/// Parses "[…]" at `at` (the character after '['). Returns the position after ']', or npos if the bracket is
/// empty or not closed.
std::size_t parse_bracket(std::string_view text, std::size_t at, std::bitset<256>& characters) {
  const bool negated = at < text.size() && (text[at] == '!' || text[at] == '^');
  if (negated) ++at;
  for (bool first = true; at < text.size(); first = false) {
    const auto low = static_cast<unsigned char>(text[at]);
    if (low == ']' && !first) {
      if (negated) characters.flip();
      characters.reset('/');
      return at + 1;
    }
    auto high = low;
    if (at + 2 < text.size() && text[at + 1] == '-' && text[at + 2] != ']') {
      high = static_cast<unsigned char>(text[at + 2]);
      at += 2;
    }
    for (unsigned c = low; c <= high; ++c) characters.set(c);
    ++at;
  }
  return std::string_view::npos;
}

/// The length of a printf or strftime conversion ("%04d", "%Y") at the start of `text`; 0 if there is none.
std::size_t conversion_length(std::string_view text) {
  if (!text.starts_with('%')) return 0;
  const std::size_t letter = text.find_first_not_of("-+ #0123456789.", 1);
  constexpr std::string_view letters = "diouxXcsYymdjHMS";
  const bool is_conversion = letter != std::string_view::npos && letters.find(text[letter]) != letters.npos;
  return is_conversion ? letter + 1 : 0;
}

constexpr const char* known_wildcards = "the wildcards are '*', '?' and '[a-z]'. ";

/// Finds wildcards of other programs. Such a wildcard is a mistake here, not a part of a name.
std::optional<GlobProblem> foreign_wildcard(std::string_view text, std::size_t at) {
  if (const std::size_t length = conversion_length(text.substr(at)); length > 0) {
    const std::string conversion(text.substr(at, length));
    return GlobProblem{"'" + conversion + "' is not a wildcard here: " + known_wildcards +
                       "Write '*' instead, or '[%]' for a '%' in the name"};
  }
  const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
  if (end == std::string_view::npos) return std::nullopt;
  return GlobProblem{"'" + std::string(text.substr(at, end + 1 - at)) +
                     "' is not a wildcard here: " + known_wildcards +
                     "Write a rule for each name, or one rule with '*'. Write '[{]' for a '{' in the name"};
}

std::variant<ComponentGlob, GlobProblem> parse_component(std::string_view text) {
  ComponentGlob glob;
  for (std::size_t at = 0; at < text.size();) {
    if (auto problem = foreign_wildcard(text, at)) return std::move(*problem);
    const char c = text[at++];
    GlobElement element;
    if (c == '*') {
      element.star = true;
      if (!glob.empty() && glob.back().star) {
        return GlobProblem{
            "'**' is not a wildcard here and not needed: a pattern is compared with the last parts of a "
            "path"};
      }
    } else if (c == '?') {
      element.characters.set().reset('/');
    } else if (c == '[') {
      at = parse_bracket(text, at, element.characters);
      if (at == std::string_view::npos) return GlobProblem{"the bracket '[' is not closed by ']'"};
      if (element.characters.none()) return GlobProblem{"a range in brackets is empty: swap its ends"};
    } else {
      element.characters.set(static_cast<unsigned char>(c));
    }
    glob.push_back(element);
  }
  return glob;
}

/// The positions that a component's glob may have reached. Includes positions after stars that match nothing.
using Positions = std::set<std::size_t>;

Positions closure(const ComponentGlob& glob, const Positions& positions) {
  Positions closed = positions;
  for (std::size_t position : positions) {
    while (position < glob.size() && glob[position].star) closed.insert(++position);
  }
  return closed;
}

Positions advance(const ComponentGlob& glob, const Positions& positions, unsigned char c) {
  Positions next;
  for (const std::size_t position : positions) {
    if (position == glob.size()) continue;
    if (glob[position].star)
      next.insert(position);
    else if (glob[position].characters.test(c))
      next.insert(position + 1);
  }
  return closure(glob, next);
}

/// One character from each class that the two globs distinguish.
std::vector<unsigned char> representatives(const ComponentGlob& a, const ComponentGlob& b) {
  std::map<std::vector<bool>, unsigned char> classes;
  for (unsigned c = 1; c < 256; ++c) {
    if (c == '/') continue;
    std::vector<bool> signature;
    for (const ComponentGlob* glob : {&a, &b}) {
      for (const GlobElement& element : *glob) signature.push_back(element.characters.test(c));
    }
    classes.emplace(std::move(signature), static_cast<unsigned char>(c));
  }
  std::vector<unsigned char> characters;
  characters.reserve(classes.size());
  for (const auto& [signature, c] : classes) characters.push_back(c);
  return characters;
}

/// Whether the beginnings before the first star exclude each other. Then so do the globs. The members of an
/// ensemble have many such rules.
bool begin_apart(const ComponentGlob& first, const ComponentGlob& second) {
  const std::size_t shared = std::min(first.size(), second.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (first[i].star || second[i].star) return false;
    if ((first[i].characters & second[i].characters).none()) return true;
  }
  const ComponentGlob& longer = first.size() > shared ? first : second;
  return longer.size() > shared && !longer[shared].star;
}

/// Walks both automata over all texts at once. Patterns that would need more states than this limit count as
/// overlapping.
GlobRelation relate_components(const ComponentGlob& first, const ComponentGlob& second) {
  constexpr std::size_t most_states = 2000;
  struct State {
    Positions first, second;
    auto operator<=>(const State&) const = default;
  };
  const std::vector<unsigned char> alphabet = representatives(first, second);
  const State start{closure(first, {0}), closure(second, {0})};
  std::set<State> seen{start};
  std::deque<State> queue{start};
  bool overlapping = false;
  bool covered = true;
  for (; !queue.empty(); queue.pop_front()) {
    const State& state = queue.front();
    const bool in_first = state.first.contains(first.size());
    const bool in_second = state.second.contains(second.size());
    overlapping |= in_first && in_second;
    covered &= in_first || !in_second;
    for (const unsigned char c : alphabet) {
      State next{advance(first, state.first, c), advance(second, state.second, c)};
      if (next.second.empty() || !seen.insert(next).second) continue;
      if (seen.size() > most_states) return GlobRelation::overlapping;
      queue.push_back(std::move(next));
    }
  }
  if (!overlapping) return GlobRelation::disjoint;
  return covered ? GlobRelation::covered : GlobRelation::overlapping;
}

}  // namespace

std::variant<Glob, GlobProblem> parse_glob(std::string_view pattern) {
  if (pattern.empty()) return GlobProblem{"it is empty"};
  if (pattern.size() > longest_pattern)
    return GlobProblem{"it is longer than " + std::to_string(longest_pattern) + " characters"};
  for (const char c : pattern) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return GlobProblem{"it contains a control character"};
  }
  if (pattern.front() == '/') {
    return GlobProblem{
        "it begins with '/', but a pattern is compared with the last parts of a path: write '" +
        std::string(pattern.substr(1)) + "'"};
  }
  Glob glob;
  for (std::size_t start = 0; start <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', start), pattern.size());
    const std::string_view component = pattern.substr(start, end - start);
    if (component.empty())
      return GlobProblem{end == pattern.size() ? "it ends in '/': a pattern names files"
                                               : "it has an empty component ('//')"};
    if (component == "." || component == "..")
      return GlobProblem{"it contains '" + std::string(component) +
                         "': use only names of files and directories"};
    auto parsed = parse_component(component);
    if (auto* problem = std::get_if<GlobProblem>(&parsed)) return std::move(*problem);
    glob.components.push_back(std::move(std::get<ComponentGlob>(parsed)));
    start = end + 1;
  }
  return glob;
}

GlobRelation relate(const Glob& first, const Glob& second) {
  const std::size_t shared = std::min(first.components.size(), second.components.size());
  const auto from_end = [](const Glob& glob, std::size_t i) -> const ComponentGlob& {
    return glob.components[glob.components.size() - i];
  };
  for (std::size_t i = 1; i <= shared; ++i) {
    if (begin_apart(from_end(first, i), from_end(second, i))) return GlobRelation::disjoint;
  }
  bool covered = first.components.size() <= second.components.size();
  for (std::size_t i = 1; i <= shared; ++i) {
    const GlobRelation relation = relate_components(from_end(first, i), from_end(second, i));
    if (relation == GlobRelation::disjoint) return relation;
    covered &= relation == GlobRelation::covered;
  }
  return covered ? GlobRelation::covered : GlobRelation::overlapping;
}

}  // namespace sluice::workflows
