#include "yaml_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "sluice/formats/near_match.hpp"
#include "sluice/workflows/key_table.hpp"
#include "yaml_document.hpp"

namespace sluice::workflows {

using formats::join;
using formats::suggestion;

namespace {

/// Shortens texts that would make a message unreadable.
std::string shortened(const std::string& text) {
  constexpr std::size_t longest = 60;
  std::string shown;
  for (const char c : text.substr(0, longest)) shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  while (text.size() > longest && !shown.empty() &&
         (static_cast<unsigned char>(text[shown.size()]) & 0xc0u) == 0x80)
    shown.pop_back();
  return text.size() > longest ? shown + "…" : shown;
}

bool has_known_tag(const YAML::Node& node) {
  constexpr std::string_view standard = "tag:yaml.org,2002:";
  constexpr std::array<std::string_view, 7> names{"str", "int", "float", "bool", "null", "map", "seq"};
  const std::string& tag = node.Tag();
  if (tag.empty() || tag == "?" || tag == "!") return true;
  return tag.starts_with(standard) &&
         std::find(names.begin(), names.end(), tag.substr(standard.size())) != names.end();
}

/// What the same is called elsewhere, and here.
constexpr std::array<std::array<std::string_view, 2>, 44> other_words{{
    {"env", "environment"},
    {"vars", "environment"},
    {"variables", "environment"},
    {"dir", "directory"},
    {"cwd", "directory"},
    {"workdir", "directory"},
    {"wd", "directory"},
    {"working-directory", "directory"},
    {"np", "ranks"},
    {"n", "ranks"},
    {"ntasks", "ranks"},
    {"tasks", "ranks"},
    {"processes", "ranks"},
    {"procs", "ranks"},
    {"cores", "ranks"},
    {"cmd", "command"},
    {"exec", "command"},
    {"executable", "command"},
    {"program", "command"},
    {"run", "command"},
    {"args", "command"},
    {"arguments", "command"},
    {"options", "launcher-options"},
    {"mpi-options", "launcher-options"},
    {"members", "instances"},
    {"retries", "restarts"},
    {"after", "start"},
    {"depends", "start"},
    {"depends-on", "start"},
    {"needs", "start"},
    {"requires", "start"},
    {"file", "path"},
    {"filename", "path"},
    {"pattern", "path"},
    {"glob", "path"},
    {"producer", "writer"},
    {"source", "writer"},
    {"from", "writer"},
    {"consumers", "readers"},
    {"to", "readers"},
    {"programs", "components"},
    {"rules", "files"},
    {"mode", "steps"},
    {"modes", "steps"},
}};

/// Words that are no values, and what is meant.
constexpr std::array<std::array<std::string_view, 2>, 17> other_values{{
    {"ram", "memory"},
    {"mem", "memory"},
    {"shm", "memory"},
    {"disk", "file"},
    {"disc", "file"},
    {"bb", "burst-buffer"},
    {"flush", "sync"},
    {"end", "exit"},
    {"yes", "hyperslabs"},
    {"true", "hyperslabs"},
    {"basename", "name"},
    {"ignore", "continue"},
    {"abort", "stop"},
    {"slurm", "srun"},
    {"openmpi", "mpirun"},
    {"mpich", "mpiexec.hydra"},
    {"hydra", "mpiexec.hydra"},
}};

template <class Words>
std::string meant_by(const std::string& word, const Words& words, std::span<const std::string> allowed) {
  for (const auto& [other, own] : words)
    if (word == other && std::ranges::find(allowed, own) != allowed.end())
      return ": did you mean '" + std::string(own) + "'?";
  return {};
}

/// "did you mean …" for a key that is not allowed at its place; empty: nothing is near.
std::string guess_key(const std::string& key, std::span<const std::string> allowed) {
  std::string word = key;
  std::ranges::replace(word, '_', '-');
  if (const std::string meant = meant_by(word, other_words, allowed); !meant.empty()) return meant;
  const auto is_key = [&](const Key& known) { return known.name == key; };
  const auto known = std::ranges::find_if(all_keys(), is_key);
  if (known == all_keys().end()) return suggestion(key, allowed);
  constexpr std::array<std::string_view, 5> places{"at the top level", "in 'staging'", "in a component",
                                                   "in a component with 'for-each'", "in a file rule"};
  return ": it stands " + std::string(places.at(static_cast<std::size_t>(known->section))) + ".";
}

/// What to write in place of a text where a mapping is expected.
std::string example_of(const YAML::Node& text, std::span<const std::string> keys) {
  if (!text.IsScalar() || keys.empty()) return {};
  if (keys.front() == "command") return ", as in {command: " + shortened(text.Scalar()) + "}";
  if (keys.front() == "version") return ". 'sluice init' writes a workflow file";
  return {};
}

}  // namespace

std::string describe_found(const YAML::Node& node) {
  if (node.IsScalar())
    return has_known_tag(node) ? "'" + shortened(node.Scalar()) + "'"
                               : "the tag '" + shortened(node.Tag()) + "'";
  if (node.IsSequence()) return node.size() == 0 ? "an empty list" : "a list";
  if (node.IsMap()) return node.size() == 0 ? "an empty mapping" : "a mapping";
  return "nothing";
}

Position ValueReader::position_of(const YAML::Node& node, Position otherwise) const {
  const YAML::Mark mark = node.Mark();
  if (mark.is_null() || mark.pos < 0 || node.IsNull()) return otherwise;
  // yaml-cpp counts bytes in columns; very long lines are not written by hand, and are not counted again
  constexpr int longest_line = 4096;
  if (mark.column > longest_line || mark.pos < mark.column) return {mark.line + 1, mark.column + 1};
  const std::string_view before =
      text_.substr(static_cast<std::size_t>(mark.pos - mark.column), static_cast<std::size_t>(mark.column));
  return {mark.line + 1, position_at(before, before.size()).column};
}

void ValueReader::expected(const Value& value, const std::string& allowed) {
  findings_.mistake(value.position,
                    value.what + " is " + describe_found(value.node) + ": it must be " + allowed);
}

std::optional<std::string> ValueReader::key_text(const YAML::Node& key, Position position,
                                                 const std::string& where) {
  if (key.IsScalar()) return key.Scalar();
  findings_.mistake(position, "a key " + where + " is " + describe_found(key) + ": it must be a text");
  return std::nullopt;
}

std::optional<Section> ValueReader::section(const Value& value, std::span<const std::string> allowed,
                                            const std::string& where) {
  if (!value.node.IsMap()) {
    expected(value, "a mapping with the keys " + join(allowed) + example_of(value.node, allowed));
    return std::nullopt;
  }
  std::map<std::string, Value> values;
  for (const auto& entry : value.node) {
    const Position position = position_of(entry.first, value.position);
    const std::optional<std::string> key = key_text(entry.first, position, where);
    if (!key) continue;
    if (std::find(allowed.begin(), allowed.end(), *key) == allowed.end()) {
      const std::string guess = guess_key(*key, allowed);
      findings_.mistake(position, "unknown key '" + shortened(*key) + "' " + where + guess +
                                      (guess.empty() ? ": allowed are " : " Allowed are ") + join(allowed));
      continue;
    }
    Value found{entry.second, position_of(entry.second, position), "'" + *key + "' " + where};
    const auto [first, inserted] = values.emplace(*key, std::move(found));
    if (!inserted)
      findings_.mistake(position, "the key '" + *key + "' " + where + " was given before, in line " +
                                      std::to_string(first->second.position.line));
  }
  return Section(std::move(values));
}

std::optional<std::vector<NamedValue>> ValueReader::named_values(const Value& value,
                                                                 const std::string& kind) {
  if (!value.node.IsMap()) {
    expected(value,
             "a mapping from each " + kind + " to its value" +
                 (kind == "component" && value.node.IsSequence() ? ", without '- ': model: {command: ./model}"
                                                                 : ""));
    return std::nullopt;
  }
  std::vector<NamedValue> values;
  std::map<std::string, int> first_line;
  for (const auto& entry : value.node) {
    const Position position = position_of(entry.first, value.position);
    const std::optional<std::string> name = key_text(entry.first, position, "in " + value.what);
    if (!name) continue;
    const auto [first, inserted] = first_line.emplace(*name, position.line);
    if (!inserted) {
      findings_.mistake(position, "the " + kind + " '" + shortened(*name) + "' was given before, in line " +
                                      std::to_string(first->second));
      continue;
    }
    Value found{entry.second, position_of(entry.second, position), kind + " '" + *name + "'"};
    values.push_back({*name, position, std::move(found)});
  }
  return values;
}

std::optional<std::vector<Value>> ValueReader::list(const Value& value, const std::string& of_what) {
  if (!value.node.IsSequence()) {
    expected(value, "a list of " + of_what + (value.node.IsMap() ? ": begin each with '- '" : "") +
                        (value.node.IsScalar() && value.node.Scalar() != "true"
                             ? ", for example [" + value.node.Scalar() + "]"
                             : ""));
    return std::nullopt;
  }
  std::vector<Value> values;
  for (const auto& element : value.node)
    values.push_back({element, position_of(element, value.position), "an element of " + value.what});
  return values;
}

bool ValueReader::is_closed(const YAML::Node& scalar) const {
  // yaml-cpp accepts a quoted text that the end of the file cuts off
  const YAML::Mark mark = scalar.Mark();
  const auto start = static_cast<std::size_t>(mark.pos);
  if (mark.is_null() || start >= text_.size()) return true;
  const char quote = text_[start];
  if (quote != '"' && quote != '\'') return true;
  for (std::size_t at = start + 1; at < text_.size(); ++at) {
    if (quote == '"' && text_[at] == '\\')
      ++at;
    else if (text_[at] == quote)
      return true;
  }
  return false;
}

std::optional<std::string> ValueReader::text(const Value& value, const std::string& allowed) {
  if (!value.node.IsScalar() || !has_known_tag(value.node)) {
    expected(value, allowed);
    return std::nullopt;
  }
  if (!is_closed(value.node)) {
    findings_.mistake(value.position, "the quote that opens " + value.what + " is not closed");
    return std::nullopt;
  }
  return value.node.Scalar();
}

std::optional<std::int64_t> ValueReader::integer(const Value& value, IntegerRange range) {
  std::string allowed = "a whole number from " + std::to_string(range.least);
  if (range.most != INT64_MAX) allowed += " to " + std::to_string(range.most);
  const std::optional<std::string> digits = text(value, allowed);
  if (!digits) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = digits->data() + digits->size();
  const auto [rest, error] = std::from_chars(digits->data(), end, number);
  if (error == std::errc() && rest == end && number >= range.least && number <= range.most) return number;
  expected(value, allowed);
  return std::nullopt;
}

std::optional<std::string> ValueReader::choice(const Value& value, std::span<const std::string> allowed) {
  const std::string words = allowed.size() == 1 ? allowed.front() : "one of " + join(allowed);
  std::optional<std::string> word = text(value, words);
  if (!word || std::find(allowed.begin(), allowed.end(), *word) != allowed.end()) return word;
  std::string guess = meant_by(*word, other_values, allowed);
  if (guess.empty()) guess = suggestion(*word, allowed);
  findings_.mistake(value.position, value.what + " is " + describe_found(value.node) + guess +
                                        (guess.empty() ? ": it must be " : " It must be ") + words);
  return std::nullopt;
}

std::optional<bool> ValueReader::boolean(const Value& value) {
  const std::optional<std::string> word = text(value, "true or false");
  if (!word) return std::nullopt;
  if (*word == "true") return true;
  if (*word == "false") return false;
  expected(value, "true or false");
  return std::nullopt;
}

}  // namespace sluice::workflows
