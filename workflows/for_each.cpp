#include <algorithm>
#include <array>

#include "glob.hpp"
#include "schema.hpp"
#include "sluice/formats/near_match.hpp"

namespace sluice::workflows {
namespace {

using formats::join;
using formats::suggestion;

constexpr std::int64_t most_retries = 1000;

bool has_placeholder(const std::string& text) {
  return std::ranges::any_of(job_placeholders,
                             [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// stop, continue or retry N.
void read_on_failure(ValueReader& reader, const Value& value, ForEach& jobs) {
  const std::string allowed = "stop, continue, or retry and a number, as in retry 3";
  const auto text = reader.text(value, allowed);
  if (!text || *text == "continue") return;
  constexpr std::string_view retry = "retry ";
  constexpr std::size_t most_digits = 4;
  const std::string digits = text->starts_with(retry) ? text->substr(retry.size()) : std::string();
  const bool is_number = !digits.empty() && digits.size() <= most_digits &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  if (*text == "stop") {
    jobs.on_failure = ForEach::OnFailure::stop;
  } else if (is_number && std::stoll(digits) <= most_retries) {
    jobs.retries = std::stoi(digits);
  } else {
    reader.expected(value, allowed);
  }
}

void read_job_keys(ValueReader& reader, const Section& section, ForEach& jobs) {
  read_simple_keys(reader, section, KeySection::job, jobs);
  if (const Value* value = section.find("on-failure")) read_on_failure(reader, *value, jobs);
  if (jobs.is_latest && jobs.at_most > 1) {
    const Value* value = section.find("at-most");
    reader.findings().mistake(value->position, value->what + " is " + std::to_string(jobs.at_most) +
                                                   ": with 'latest' there is one job at a time; leave one of "
                                                   "the two out");
  }
}

/// A component with jobs is neither an ensemble nor restarted as a whole.
void refuse_other_starts(ValueReader& reader, const Section& section) {
  if (const Value* value = section.find("instances"))
    reader.findings().mistake(value->position, value->what +
                                                   " is not possible with 'for-each': each file has "
                                                   "one job; leave one of the two out");
  for (const char* key : {"restarts", "restart-delay"}) {
    if (const Value* value = section.find(key))
      reader.findings().mistake(value->position, value->what +
                                                     " is not possible with 'for-each': write "
                                                     "on-failure: retry N, for each job");
  }
}

/// The first "{name}" of the text that is nearly, but not quite, a placeholder, with what was meant; empty:
/// none.
std::string nearly_a_placeholder(const std::string& text) {
  const std::vector<std::string> known(job_placeholders.begin(), job_placeholders.end());
  for (std::size_t begin = text.find('{'); begin != std::string::npos; begin = text.find('{', begin + 1)) {
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) break;
    const std::string found = text.substr(begin, end + 1 - begin);
    if (std::ranges::find(known, found) != known.end()) continue;
    if (const std::string guess = suggestion(found, known); !guess.empty()) return found + guess;
  }
  return "";
}

/// Programs may have braces of their own, so that this is no mistake.
void warn_of_unknown_placeholders(ValueReader& reader, const Component& component) {
  const auto warn = [&](const std::string& text, const std::string& where) {
    if (const std::string found = nearly_a_placeholder(text); !found.empty())
      reader.findings().warning(component.command_position, "the " + where + " of component '" +
                                                                component.name + "' contains " + found +
                                                                " The jobs get it as it is written");
  };
  for (const std::string& word : component.command) warn(word, "command");
  for (const auto& variable : component.environment) warn(variable.second, "environment");
}

/// Checks where the file of a job is named.
void check_placeholders(ValueReader& reader, const Component& component) {
  if (component.command.empty()) return;
  if (has_placeholder(component.command.front())) {
    reader.findings().mistake(component.command_position,
                              "the program of component '" + component.name + "' is '" +
                                  component.command.front() +
                                  "': a file can be named in its arguments, not in the program itself");
  }
  warn_of_unknown_placeholders(reader, component);
  const bool is_named = std::ranges::any_of(component.command, has_placeholder) ||
                        std::ranges::any_of(component.environment, [](const auto& variable) {
                          return has_placeholder(variable.second);
                        });
  if (is_named) return;
  reader.findings().warning(
      component.command_position,
      "all jobs of component '" + component.name +
          "' are alike: neither its command nor its environment names " +
          join(std::vector<std::string>(job_placeholders.begin(), job_placeholders.end())));
}

bool is_reader(const FileRule& rule, const std::string& component) {
  return std::ranges::find(rule.readers, component) != rule.readers.end();
}

/// The rule that covers every file of the pattern; null: there is none.
const FileRule* wider_rule(const Workflow& workflow, const std::string& pattern) {
  const auto part = parse_glob(pattern);
  if (!std::holds_alternative<Glob>(part)) return nullptr;
  for (const FileRule& rule : workflow.files) {
    const auto whole = parse_glob(rule.pattern);
    if (std::holds_alternative<Glob>(whole) &&
        relate(std::get<Glob>(whole), std::get<Glob>(part)) == GlobRelation::covered)
      return &rule;
  }
  return nullptr;
}

/// Finds the rule whose files the component is started for.
void find_rule(const Workflow& workflow, Component& component, Findings& findings) {
  ForEach& jobs = *component.for_each;
  const std::string what = "'for-each' of component '" + component.name + "' is '" + jobs.pattern + "', ";
  const FileRule* named = nullptr;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    const FileRule& rule = workflow.files[i];
    paths.push_back(rule.pattern);
    if (rule.pattern != jobs.pattern) continue;
    named = &rule;
    if (!is_reader(rule, component.name)) continue;
    jobs.rule = static_cast<std::uint32_t>(i);
    if (rule.writer != component.name) return;
    return findings.mistake(jobs.position, what + "whose files it writes itself: nothing would start it");
  }
  if (named != nullptr) {
    findings.mistake(jobs.position, what + "but the rule in line " + std::to_string(named->position.line) +
                                        " does not name it: add '" + component.name + "' to its 'readers'");
  } else if (const FileRule* const wider = wider_rule(workflow, jobs.pattern)) {
    findings.mistake(jobs.position, what + "which is a part of the rule '" + wider->pattern + "' in line " +
                                        std::to_string(wider->position.line) +
                                        ": jobs are for all files of a rule. Put a rule with the path '" +
                                        jobs.pattern + "' before it, for these files");
  } else {
    const std::string guess = suggestion(jobs.pattern, paths);
    const std::string advice = paths.empty()   ? ": add the rule under 'files'"
                               : guess.empty() ? ": the paths are " + join(paths)
                                               : " The paths are " + join(paths);
    findings.mistake(jobs.position, what + "which is not the 'path' of a file rule" + guess + advice);
  }
}

/// All components that may wait for the component: its readers, their readers, and so on.
std::set<std::string> all_readers_of(const Workflow& workflow, const std::string& component) {
  std::set<std::string> found;
  std::vector<std::string> next{component};
  while (!next.empty()) {
    const std::string writer = next.back();
    next.pop_back();
    for (const FileRule& rule : workflow.files) {
      if (rule.writer != writer) continue;
      for (const std::string& reader : rule.readers)
        if (found.insert(reader).second) next.push_back(reader);
    }
  }
  return found;
}

void check_when_done(const Workflow& workflow, const Component& component, Findings& findings) {
  const std::string what = "component '" + component.name + "' has 'start: when-done', but ";
  const std::set<std::string> writers = writers_for(workflow, component.name);
  if (writers.empty())
    findings.mistake(component.position,
                     what + "reads no file of another component: name it among the 'readers' of a rule");
  const std::set<std::string> readers = all_readers_of(workflow, component.name);
  const auto both =
      std::ranges::find_if(writers, [&](const std::string& writer) { return readers.contains(writer); });
  if (both != writers.end()) {
    findings.mistake(component.position, what + "'" + *both +
                                             "', for whose end it waits, depends on its files: let it start "
                                             "with the run");
  }
}

}  // namespace

void read_starts(ValueReader& reader, const Section& section, Component& component) {
  const Value* const pattern = section.find("for-each");
  if (pattern == nullptr) {
    for (const Key& key : all_keys()) {
      const Value* const value = key.needs == "for-each" ? section.find(key.name) : nullptr;
      if (value != nullptr)
        reader.findings().mistake(value->position, value->what + " has no effect without 'for-each'");
    }
    return;
  }
  const auto text = reader.text(*pattern, "the path of a file rule");
  if (!text) return;
  component.for_each.emplace();
  component.for_each->pattern = *text;
  component.for_each->position = pattern->position;
  read_job_keys(reader, section, *component.for_each);
  refuse_other_starts(reader, section);
  check_placeholders(reader, component);
  if (component.starts_when_done) {
    const Value* const start = section.find("start");
    reader.findings().mistake(start->position,
                              start->what +
                                  " is when-done: with 'for-each' each job starts when its file is "
                                  "there; leave one of the two out");
    component.starts_when_done = false;
  }
}

void check_starts(Workflow& workflow, Findings& findings) {
  for (Component& component : workflow.components) {
    if (component.for_each) find_rule(workflow, component, findings);
    if (component.starts_when_done) check_when_done(workflow, component, findings);
  }
}

std::set<std::string> writers_for(const Workflow& workflow, const std::string& component) {
  std::set<std::string> writers;
  for (const FileRule& rule : workflow.files)
    if (rule.writer != component && is_reader(rule, component)) writers.insert(rule.writer);
  return writers;
}

}  // namespace sluice::workflows
