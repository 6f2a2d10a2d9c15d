#include "sluice/runtime/rules.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>

#include "sluice/formats/error.hpp"
#include "sluice/formats/path_pattern.hpp"
#include "sluice/formats/tool_files.hpp"
#include "sluice/runtime/matcher_choice.hpp"

namespace sluice::runtime {

namespace {

/// Appends the components of `path`. Leaves out "." and empty components; ".." removes the component before
/// it.
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

/// Removes the file system prefixes that ROMIO accepts before a path, and "file:".
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
  // Too short for the pattern: add the working directory.
  std::vector<std::string> whole;
  std::array<char, PATH_MAX> directory;
  if (::getcwd(directory.data(), directory.size()) != nullptr) append_components(directory.data(), whole);
  append_components(path, whole);
  return whole;
}

/// What a letter of a rule says, in the order in which they are written.
struct RuleLetter {
  char letter;
  bool ClientRule::*flag;
};
constexpr std::array<RuleLetter, 9> rule_letters{{{'d', &ClientRule::is_drained},
                                                  {'n', &ClientRule::is_by_name},
                                                  {'s', &ClientRule::is_stream},
                                                  {'a', &ClientRule::may_restart},
                                                  {'y', &ClientRule::is_shown_at_sync},
                                                  {'h', &ClientRule::has_hyperslabs},
                                                  {'o', &ClientRule::offers_steps},
                                                  {'p', &ClientRule::offers_reads},
                                                  {'l', &ClientRule::is_done_anew}}};

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
  if (const std::size_t closes = access.find('c'); closes != std::string_view::npos) {
    const auto number =
        std::from_chars(access.data() + closes + 1, access.data() + access.size(), rule.closes);
    if (number.ec != std::errc{} || number.ptr != access.data() + access.size()) fail("no number of closes");
    access = access.substr(0, closes);
  }
  for (auto row = rule_letters.rbegin(); row != rule_letters.rend(); ++row) {
    rule.*row->flag = access.ends_with(row->letter);
    if (rule.*row->flag) access.remove_suffix(1);
  }
  if (access != "w" && access != "r" && access != "rw") fail("neither w, r nor rw");
  rule.writes = access != "r";
  rule.reads = access != "w";
  const auto through = matcher::through_of(line.substr(second + 1, third - second - 1));
  if (!through) fail("no word for what the data passes through");
  rule.through = *through;
  rule.pattern = line.substr(third + 1);
  if (rule.pattern.empty()) fail("no pattern");
  return rule;
}

std::vector<ClientRule> parse_rules(std::string_view text) {
  std::vector<ClientRule> rules;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) rules.push_back(parse_rule(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rules;
}

/// Leaves out damaged rules: they only serve messages for users.
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

/// Returns 1 when the variable is not set.
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
  // In a run of root, processes that are another user have a way of their own.
  if (const std::string door = variable("SLUICE_DOOR"); !door.empty() && ::geteuid() != 0)
    environment.socket_path = door;
  const MatcherShares shares{positive_number("SLUICE_MATCHERS"), positive_number("SLUICE_VIRTUAL_NODES")};
  const WorldPlace place = world_place([](const char* name) { return std::getenv(name); });
  environment.socket_path = matcher_socket_path(environment.socket_path, matcher_index(place, shares));
  environment.may_have_several_matchers =
      place.size > 1 && (place.spans_nodes || shares.matchers > 1 || shares.virtual_nodes > 1);
  environment.component = variable("SLUICE_COMPONENT");
  environment.run = read_run_identity();
  environment.log_directory = variable("SLUICE_LOGS");
  environment.copy_threads = positive_number("SLUICE_COPY_THREADS");
  environment.others = parse_other_rules(variable("SLUICE_OTHERS"));
  environment.rules = parse_rules(variable("SLUICE_RULES"));
  return environment;
}

ClientEnvironment read_attached_environment() {
  ClientEnvironment environment;
  environment.socket_path = variable("SLUICE_ATTACHED");
  if (!environment.is_coupled()) return environment;
  environment.component = matcher::attached_name;
  environment.rules = parse_rules(variable("SLUICE_RULES"));
  return environment;
}

std::string encode_rules(const std::vector<ClientRule>& rules) {
  std::string text;
  for (const ClientRule& rule : rules) {
    text += std::to_string(rule.rule) + '\t' + (rule.reads ? rule.writes ? "rw" : "r" : "w");
    for (const auto& [letter, flag] : rule_letters)
      if (rule.*flag) text += letter;
    text += (rule.closes != 1 ? "c" + std::to_string(rule.closes) : "") + '\t';
    text += matcher::word_of(rule.through);
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
  const std::vector<std::string_view> wanted = formats::pattern_components(pattern);
  if (wanted.empty() || path.empty()) return std::nullopt;
  const bool is_absolute = pattern.starts_with('/');
  // Such a pattern may cover all directories of a path, so a relative path needs the working directory.
  const bool needs_all = is_absolute || std::ranges::find(wanted, formats::any_depth) != wanted.end();
  const auto all =
      components_of_path(without_prefix(path), needs_all ? std::string_view::npos : wanted.size());
  const auto first = formats::covered_tail(wanted, all);
  if (!first || (is_absolute && *first != 0)) return std::nullopt;
  std::string tail = all[*first];
  for (std::size_t i = *first + 1; i < all.size(); ++i) tail += '/' + all[i];
  return tail;
}

namespace {

std::string_view text_of_variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool is_of_programs(std::string_view path) noexcept {
  std::array<char, PATH_MAX> here{};
  if (::getcwd(here.data(), here.size()) == nullptr) here.front() = '\0';
  return formats::is_place_of_programs(path, text_of_variable("PATH"), text_of_variable("HOME"), here.data());
}

/// The part of the path that a rule's pattern covers, as the path is given or of the file that it leads to.
std::optional<std::string> covered_part(std::string_view pattern, std::string_view path,
                                        std::string_view file) {
  auto tail = match_tail(pattern, path);
  if (!tail) tail = match_tail(pattern, file);
  if (!tail || !formats::is_any_name(pattern)) return tail;
  return formats::is_program_text(file) || is_of_programs(path) || is_of_programs(file) ? std::nullopt : tail;
}

}  // namespace

std::optional<RuleMatch> find_rule(const ClientEnvironment& environment, std::string_view path,
                                   LastLink last_link) {
  if (environment.rules.empty() || path.empty()) return std::nullopt;
  auto [file, is_on_disk] = resolved_file(without_prefix(path), last_link);
  if (formats::is_tool_file(file)) return std::nullopt;
  for (const ClientRule& rule : environment.rules) {
    auto tail = covered_part(rule.pattern, path, file);
    if (!tail) continue;
    DatasetKey key{rule.rule, rule.is_by_name ? std::move(*tail) : file};
    return RuleMatch{rule, std::move(key), std::move(file), is_on_disk};
  }
  return std::nullopt;
}

std::uint32_t find_other_rule(const ClientEnvironment& environment, std::string_view path) {
  if (environment.others.empty() || path.empty()) return OrdinaryFile::no_rule;
  const std::string file = resolved_path(without_prefix(path));
  if (formats::is_tool_file(file)) return OrdinaryFile::no_rule;
  for (const OtherRule& rule : environment.others) {
    if (covered_part(rule.pattern, path, file)) return rule.rule;
  }
  return OrdinaryFile::no_rule;
}

}  // namespace sluice::runtime
