#include "glob.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "sluice/formats/path_pattern.hpp"
#include "sluice/workflows/command_advice.hpp"

namespace sluice::workflows {
namespace {

constexpr std::size_t longest_pattern = 1024;

/// The characters that the element at `at` covers. `at` becomes the begin of the next one.
std::bitset<256> characters_of(std::string_view text, std::size_t& at) {
  std::bitset<256> characters;
  std::size_t after = at;
  for (std::size_t c = 1; c < characters.size(); ++c) {
    const formats::ElementMatch match = formats::match_element(text, at, static_cast<char>(c));
    characters[c] = match.covers;
    after = match.after;
  }
  at = after;
  return characters;
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

/// What stands at `at` only in regular expressions; empty: nothing.
std::string_view sign_of_expression(std::string_view text, std::size_t at) {
  const bool is_anchor = (at == 0 && text[at] == '^') || (at + 1 == text.size() && text[at] == '$');
  const bool is_repetition = text[at] == '+' && at > 0 && text[at - 1] == ']';
  return is_anchor || is_repetition ? text.substr(at, 1) : std::string_view();
}

/// Finds wildcards of other programs. Such a wildcard is a mistake here, not a part of a name.
std::optional<GlobProblem> foreign_wildcard(std::string_view text, std::size_t at) {
  if (const std::size_t length = conversion_length(text.substr(at)); length > 0) {
    const std::string conversion(text.substr(at, length));
    return GlobProblem{"'" + conversion + "' is not a wildcard here: " + known_wildcards +
                       "Write '*' instead, or '[%]' for a '%' in the name"};
  }
  if (const std::string_view sign = sign_of_expression(text, at); !sign.empty())
    return GlobProblem{"'" + std::string(sign) + "' is not a wildcard here: " + known_wildcards +
                       "This is no regular expression: write '*' for '.*'. In a name, write '?' for '" +
                       std::string(sign) + "'"};
  const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
  if (end == std::string_view::npos) return std::nullopt;
  return GlobProblem{"'" + std::string(text.substr(at, end + 1 - at)) +
                     "' is not a wildcard here: " + known_wildcards +
                     "Write a rule for each name, or one rule with '*'. Write '[{]' for a '{' in the name"};
}

std::variant<ComponentGlob, GlobProblem> parse_component(std::string_view text) {
  ComponentGlob glob;
  if (text == formats::any_depth) return glob;
  for (std::size_t at = 0; at < text.size();) {
    if (auto problem = foreign_wildcard(text, at)) return std::move(*problem);
    if (text[at] == '*') {
      if (!glob.empty() && glob.back().star)
        return GlobProblem{"'**' has to be a whole part of the path, as in 'store.zarr/**' or 'run/**/a.nc'"};
      glob.push_back({true, {}});
      ++at;
      continue;
    }
    const bool is_bracket = text[at] == '[';
    const std::size_t begin = at;
    const GlobElement element{false, characters_of(text, at)};
    if (is_bracket && at == begin + 1) return GlobProblem{"the bracket '[' is not closed by ']'"};
    if (element.characters.none()) return GlobProblem{"a range in brackets is empty: swap its ends"};
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

const ComponentGlob& from_end(const Glob& glob, std::size_t i) {
  return glob.components[glob.components.size() - i];
}

/// The number of components behind the last "**".
std::size_t depth_behind_any(const Glob& glob) {
  std::size_t depth = 0;
  while (depth < glob.components.size() && !from_end(glob, depth + 1).empty()) ++depth;
  return depth;
}

/// Compares two patterns part by part, from the end of a path. Before its first part, each pattern covers any
/// directories, as by "**".
class PathComparison {
 public:
  PathComparison(const Glob& first, const Glob& second) : first_(first), second_(second) {}

  /// Whether there is a path that both cover.
  bool overlap() { return overlap(1, 1); }
  /// Whether the first pattern covers all that the second does. Patterns whose "**" are placed differently
  /// may count as not covered.
  bool is_covered() { return is_covered(1, 1); }

 private:
  using Place = std::array<std::size_t, 2>;  ///< parts from the end; one more than there are: the begin

  static bool is_begin(const Glob& glob, std::size_t i) { return i > glob.components.size(); }
  static bool is_any(const Glob& glob, std::size_t i) {
    return is_begin(glob, i) || from_end(glob, i).empty();
  }

  GlobRelation parts(std::size_t i, std::size_t j) {
    const auto [at, is_new] = parts_.try_emplace({i, j}, GlobRelation::disjoint);
    if (is_new) at->second = relate_components(from_end(first_, i), from_end(second_, j));
    return at->second;
  }

  bool overlap(std::size_t i, std::size_t j) {
    if (is_begin(first_, i) || is_begin(second_, j)) return true;
    const auto [at, is_new] = overlaps_.try_emplace({i, j}, false);
    if (!is_new) return at->second;
    bool found = false;
    if (is_any(first_, i))
      found = overlap(i + 1, j) || overlap(i, j + 1);
    else if (is_any(second_, j))
      found = overlap(i, j + 1) || overlap(i + 1, j);
    else
      found = parts(i, j) != GlobRelation::disjoint && overlap(i + 1, j + 1);
    return at->second = found;
  }

  bool is_covered(std::size_t i, std::size_t j) {
    if (is_begin(first_, i)) return true;
    const auto [at, is_new] = covers_.try_emplace({i, j}, false);
    if (!is_new) return at->second;
    bool found = false;
    if (is_any(first_, i))
      found = is_covered(i + 1, j) || (!is_begin(second_, j) && is_covered(i, j + 1));
    else if (!is_any(second_, j))
      found = parts(i, j) == GlobRelation::covered && is_covered(i + 1, j + 1);
    return at->second = found;
  }

  const Glob& first_;
  const Glob& second_;
  std::map<Place, GlobRelation> parts_;
  std::map<Place, bool> overlaps_, covers_;
};

}  // namespace

std::variant<Glob, GlobProblem> parse_glob(std::string_view pattern) {
  if (pattern.empty()) return GlobProblem{"it is empty"};
  if (pattern.size() > longest_pattern)
    return GlobProblem{"it is longer than " + std::to_string(longest_pattern) + " characters"};
  for (const char c : pattern) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return GlobProblem{"it contains a control character"};
  }
  if (pattern.find('\\') != std::string_view::npos)
    return GlobProblem{
        "it contains '\\': write '/' between directories, and [a] or '?' for a special character"};
  if (std::string problem = other_quote_of(pattern); !problem.empty()) return GlobProblem{std::move(problem)};
  if (pattern.front() == ' ' || pattern.back() == ' ')
    return GlobProblem{
        "it begins or ends with a blank: remove the blank, or write '[ ]' for one in the name"};
  if (pattern.size() > 2 && pattern[1] == ':' && pattern[2] == '/')
    return GlobProblem{"it begins with the letter of a drive: write the last parts of the path alone"};
  if (pattern.starts_with("~/"))
    return GlobProblem{
        "nothing expands '~', and a pattern is compared with the last parts of a path: write '" +
        std::string(pattern.substr(2)) + "'"};
  if (const std::size_t at = pattern.front() == '$' ? 0 : pattern.find("/$"); at != std::string_view::npos) {
    const std::string_view word = pattern.substr(pattern[at] == '/' ? at + 1 : at);
    return GlobProblem{"nothing expands '" + std::string(word.substr(0, word.find('/'))) +
                       "', and a pattern is compared with the last parts of a path: write what stands behind "
                       "it, or the name itself. '[$]' stands for a '$' in a name"};
  }
  if (pattern.front() == '/') {
    return GlobProblem{
        "it begins with '/', but a pattern is compared with the last parts of a path: write '" +
        std::string(pattern.substr(1)) + "'"};
  }
  for (std::size_t start = 0; start <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', start), pattern.size());
    const std::string_view component = pattern.substr(start, end - start);
    if (component.empty())
      return GlobProblem{end == pattern.size() ? "it ends in '/': a pattern names files"
                                               : "it has an empty component ('//')"};
    if (component == "." || component == "..")
      return GlobProblem{"it contains '" + std::string(component) +
                         "': use only names of files and directories"};
    start = end + 1;
  }
  Glob glob;
  for (const std::string_view component : formats::pattern_components(pattern)) {
    auto parsed = parse_component(component);
    if (auto* problem = std::get_if<GlobProblem>(&parsed)) return std::move(*problem);
    glob.components.push_back(std::move(std::get<ComponentGlob>(parsed)));
  }
  return glob;
}

GlobRelation relate(const Glob& first, const Glob& second) {
  const std::size_t shared = std::min(depth_behind_any(first), depth_behind_any(second));
  for (std::size_t i = 1; i <= shared; ++i) {
    if (begin_apart(from_end(first, i), from_end(second, i))) return GlobRelation::disjoint;
  }
  PathComparison comparison(first, second);
  if (!comparison.overlap()) return GlobRelation::disjoint;
  return comparison.is_covered() ? GlobRelation::covered : GlobRelation::overlapping;
}

}  // namespace sluice::workflows
