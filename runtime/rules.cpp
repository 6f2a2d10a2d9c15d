#include "sluice/runtime/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/matcher_choice.hpp"

namespace sluice::runtime {

namespace {

/// What a bracket expression says about a character. `after` is the position behind the closing bracket; npos
/// when there is none, then '[' is an ordinary character.
struct BracketMatch {
  bool matches = false;
  std::size_t after = std::string_view::npos;
};

/// `begin` is the position behind '['. A ']' that comes first is a member; '!' or '^' negates; "a-z" is a
/// range of bytes.
BracketMatch match_bracket(std::string_view pattern, std::size_t begin, char character) {
  std::size_t i = begin;
  const bool is_negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (is_negated) ++i;
  const std::size_t first = i;
  const auto value = static_cast<unsigned char>(character);
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
  if (i >= pattern.size()) return {};
  return {is_member != is_negated, i + 1};
}

/// Whether `pattern` covers the whole of one path component. Goes back to the last '*' only, which is enough
/// and takes time of at most the product of the lengths.
bool matches_component(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_name = 0;
  const auto step = [&]() {
    if (p >= pattern.size() || n >= name.size()) return false;
    if (pattern[p] == '[') {
      const BracketMatch bracket = match_bracket(pattern, p + 1, name[n]);
      if (bracket.after != std::string_view::npos) {
        if (bracket.matches) p = bracket.after, ++n;
        return bracket.matches;
      }
    }
    if (pattern[p] != '?' && pattern[p] != name[n]) return false;
    ++p, ++n;
    return true;
  };
  while (n < name.size() || p < pattern.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (!step()) {
      if (star == std::string_view::npos || star_name >= name.size()) return false;
      p = star + 1;
      n = ++star_name;
    }
  }
  return true;
}

/// Appends the components of `path`; "." and empty ones are left out, ".." takes the one before it away.
void append_components(std::string_view path, std::vector<std::string>& components) {
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (component.empty() || component == ".") continue;
    if (component == ".." && !components.empty() && components.back() != "..") {
      components.pop_back();
    } else {
      components.emplace_back(component);
    }
  }
}

/// The names of file systems that ROMIO takes before a path, and "file:".
std::string_view without_prefix(std::string_view path) {
  static constexpr std::array<std::string_view, 14> prefixes{
      "ufs:",    "nfs:",  "xfs:",    "pvfs2:", "pvfs:",   "gpfs:",    "panfs:",
      "lustre:", "daos:", "testfs:", "ime:",   "zoidfs:", "quobyte:", "file:"};
  for (const std::string_view prefix : prefixes) {
    if (path.starts_with(prefix)) return path.substr(prefix.size());
  }
  return path;
}

std::vector<std::string> components_of_path(std::string_view path, std::size_t wanted) {
  std::vector<std::string> components;
  append_components(path, components);
  if (path.starts_with('/')) return components;
  const auto is_parent = [](const std::string& component) { return component == ".."; };
  if (components.size() >= wanted && std::none_of(components.begin(), components.end(), is_parent)) {
    return components;
  }
  // Too short for the pattern as it is: the working directory is a part of it as well.
  std::error_code ignored;
  std::vector<std::string> whole;
  append_components(std::filesystem::current_path(ignored).string(), whole);
  append_components(path, whole);
  return whole;
}

constexpr std::array<std::string_view, 5> through_words{"memory", "burst-buffer", "subfiles", "blobs",
                                                        "file"};

ClientRule parse_rule(std::string_view line) {
  const auto fail = [&](const char* what) {
    throw Error(NC_EINVAL, "SLUICE_RULES: " + std::string(what) + " in the line \"" + std::string(line) +
                               "\"; it is set by `sluice run`, do not change it");
  };
  const std::size_t first = line.find('\t');
  const std::size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
  const std::size_t third = second == std::string_view::npos ? second : line.find('\t', second + 1);
  if (third == std::string_view::npos) fail("three tabulators are needed");
  ClientRule rule;
  const auto index = std::from_chars(line.data(), line.data() + first, rule.rule);
  if (index.ec != std::errc{} || index.ptr != line.data() + first) fail("no rule number");
  std::string_view access = line.substr(first + 1, second - first - 1);
  if (access.ends_with('n')) {
    rule.identity = matcher::Identity::name;
    access.remove_suffix(1);
  }
  rule.is_drained = access.ends_with('d');
  if (rule.is_drained) access.remove_suffix(1);
  if (access != "w" && access != "r" && access != "rw") fail("neither w, r nor rw");
  rule.writes = access != "r";
  rule.reads = access != "w";
  const auto through = std::ranges::find(through_words, line.substr(second + 1, third - second - 1));
  if (through == through_words.end()) fail("no word for what the data passes through");
  rule.through = static_cast<matcher::Through>(through - through_words.begin());
  rule.pattern = line.substr(third + 1);
  if (rule.pattern.empty()) fail("no pattern");
  return rule;
}

/// What is damaged is left out: it is for what users are told only.
std::vector<OtherRule> parse_other_rules(std::string_view text) {
  std::vector<OtherRule> rules;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    OtherRule rule;
    const auto index = std::from_chars(line.data(), line.data() + line.size(), rule.rule);
    const auto digits = static_cast<std::size_t>(index.ptr - line.data());
    if (index.ec != std::errc{} || digits + 1 >= line.size() || line[digits] != '\t') continue;
    rule.pattern = line.substr(digits + 1);
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string(value);
}

/// 1 where it is not set.
std::uint32_t positive_number(const char* name) {
  const std::string text = variable(name);
  if (text.empty()) return 1;
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value == 0) {
    throw Error(NC_EINVAL,
                std::string(name) + " is \"" + text + "\"; it is set by `sluice run`, do not change it");
  }
  return value;
}

}  // namespace

RunIdentity read_run_identity() {
  const std::string text = variable("SLUICE_RUN");
  RunIdentity run;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, run.number);
  if (number.ec != std::errc{} || number.ptr == end || *number.ptr != '-') return {};
  const auto begin = std::from_chars(number.ptr + 1, end, run.begin_ns);
  return begin.ec == std::errc{} && begin.ptr == end ? run : RunIdentity{};
}

std::string encode_run_identity(const RunIdentity& run) {
  return std::to_string(run.number) + "-" + std::to_string(run.begin_ns);
}

ClientEnvironment read_client_environment() {
  ClientEnvironment environment;
  environment.socket_path = variable("SLUICE_SOCKET");
  if (!environment.is_coupled()) return environment;
  const MatcherShares shares{positive_number("SLUICE_MATCHERS"), positive_number("SLUICE_VIRTUAL_NODES")};
  const WorldPlace place = world_place([](const char* name) { return std::getenv(name); });
  environment.socket_path = matcher_socket_path(environment.socket_path, matcher_index(place, shares));
  environment.component = variable("SLUICE_COMPONENT");
  environment.run = read_run_identity();
  environment.log_directory = variable("SLUICE_LOGS");
  environment.others = parse_other_rules(variable("SLUICE_OTHERS"));
  const std::string text = variable("SLUICE_RULES");
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end != 0) environment.rules.push_back(parse_rule(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return environment;
}

std::string encode_rules(const std::vector<ClientRule>& rules) {
  std::string text;
  for (const ClientRule& rule : rules) {
    text += std::to_string(rule.rule) + '\t' + (rule.reads ? rule.writes ? "rw" : "r" : "w") +
            (rule.is_drained ? "d" : "") + (rule.identity == matcher::Identity::name ? "n" : "") + '\t';
    text += through_words[static_cast<std::size_t>(rule.through)];
    text += '\t' + rule.pattern + '\n';
  }
  return text;
}

std::string encode_other_rules(const std::vector<OtherRule>& rules) {
  std::string text;
  for (const OtherRule& rule : rules) text += std::to_string(rule.rule) + '\t' + rule.pattern + '\n';
  return text;
}

std::optional<std::string> match_tail(std::string_view pattern, std::string_view path) {
  std::vector<std::string> wanted;
  append_components(pattern, wanted);
  if (wanted.empty() || path.empty()) return std::nullopt;
  const bool is_absolute = pattern.starts_with('/');
  // An absolute pattern names the whole path, so that the working directory is needed for any relative one.
  const auto all =
      components_of_path(without_prefix(path), is_absolute ? std::string_view::npos : wanted.size());
  if (all.size() < wanted.size() || (is_absolute && all.size() != wanted.size())) return std::nullopt;
  std::string tail;
  const std::size_t first = all.size() - wanted.size();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!matches_component(wanted[i], all[first + i])) return std::nullopt;
    tail += (i == 0 ? "" : "/") + all[first + i];
  }
  return tail;
}

std::optional<RuleMatch> find_rule(const ClientEnvironment& environment, std::string_view path,
                                   LastLink last_link) {
  if (environment.rules.empty() || path.empty()) return std::nullopt;
  std::string file = resolved_path(without_prefix(path), last_link);
  for (const ClientRule& rule : environment.rules) {
    auto tail = match_tail(rule.pattern, path);
    if (!tail) tail = match_tail(rule.pattern, file);
    if (!tail) continue;
    DatasetKey key{rule.rule, rule.identity == matcher::Identity::name ? std::move(*tail) : file};
    std::error_code ignored;
    const bool is_on_disk = std::filesystem::exists(file, ignored);
    return RuleMatch{rule, std::move(key), std::move(file), is_on_disk};
  }
  return std::nullopt;
}

std::uint32_t find_other_rule(const ClientEnvironment& environment, std::string_view path) {
  if (environment.others.empty() || path.empty()) return OrdinaryFile::no_rule;
  const std::string file = resolved_path(without_prefix(path));
  for (const OtherRule& rule : environment.others) {
    if (match_tail(rule.pattern, path) || match_tail(rule.pattern, file)) return rule.rule;
  }
  return OrdinaryFile::no_rule;
}

}  // namespace sluice::runtime
