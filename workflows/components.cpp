#include <algorithm>
#include <cctype>

#include "ensembles.hpp"
#include "schema.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/workflows/command_advice.hpp"
#include "sluice/workflows/duration.hpp"
#include "sluice/workflows/shell_words.hpp"

namespace sluice::workflows {
namespace {

std::vector<std::string> read_words(ValueReader& reader, const Value& value, const std::string& of_what) {
  std::vector<std::string> words;
  const auto elements = reader.list(value, of_what);
  if (!elements) return words;
  for (const Value& element : *elements) {
    if (auto word = reader.text(element)) words.push_back(std::move(*word));
  }
  return words;
}

std::vector<std::string> read_command(ValueReader& reader, const Value& value) {
  std::vector<std::string> words;
  if (value.is_list()) {
    words = read_words(reader, value, "words");
    if (words.size() != value.node.size()) return {};
  } else {
    const auto text = reader.text(value, "a command: a text, or a list of words");
    if (!text) return {};
    ShellWords split = split_shell_words(*text);
    const std::string advice = advice_on_shell_text(*text);
    for (const ShellWordsProblem& problem : split.problems) {
      reader.findings().mistake(value.position, value.what + " is '" + *text + "': " + problem.text +
                                                    (advice.empty() ? advice : ". " + advice));
    }
    if (!split.problems.empty()) return {};
    words = std::move(split.words);
  }
  if (words.empty() || words.front().empty()) {
    reader.findings().mistake(value.position, value.what + " is empty: write the program and its arguments");
    return {};
  }
  if (const std::string advice = advice_on_begin(words, true); !advice.empty()) {
    reader.findings().mistake(value.position, value.what + ": " + advice);
    return {};
  }
  return words;
}

/// "$HOME" or "${HOME}" in a text; empty: none. Nothing expands it.
std::string variable_in(const std::string& text) {
  const std::size_t begin = text.find('$');
  if (begin == std::string::npos || begin + 1 == text.size()) return {};
  const bool is_braced = text[begin + 1] == '{';
  std::size_t end = begin + (is_braced ? 2 : 1);
  const std::size_t first = end;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
    ++end;
  if (end == first) return {};
  return text.substr(begin, end - begin) + (is_braced ? "}" : "");
}

std::map<std::string, std::string> read_environment(ValueReader& reader, const Value& value) {
  std::map<std::string, std::string> environment;
  const auto variables = reader.named_values(value, "variable");
  if (!variables) return environment;
  for (const NamedValue& variable : *variables) {
    const auto text = reader.text(variable.value, "a text (write \"\" for an empty one)");
    if (variable.name.empty() || variable.name.find('=') != std::string::npos) {
      reader.findings().mistake(
          variable.name_position,
          "'" + variable.name +
              "' is not a valid variable name: a name is not empty and does not contain '='");
    } else if (std::ranges::find(own_variables, variable.name) != own_variables.end()) {
      reader.findings().mistake(variable.name_position,
                                "the variable '" + variable.name + "' is set by sluice run: remove it");
    } else if (text) {
      environment[variable.name] = *text;
      if (const std::string found = variable_in(*text); !found.empty())
        reader.findings().warning(variable.value.position,
                                  "the variable '" + variable.name + "' contains " + found +
                                      ", and nothing expands it: write its value, or let a shell set it: "
                                      "[sh, -c, \"" +
                                      variable.name + "=… exec PROGRAM\"]");
    }
  }
  return environment;
}

/// No shell expands the arguments. A program may do it itself, so that this is no mistake.
void warn_of_shell_words(ValueReader& reader, const Component& component) {
  if (const std::string word = unexpanded_names_in(component.command); !word.empty())
    reader.findings().warning(
        component.command_position,
        "no shell runs the command of component '" + component.name + "', so its program gets '" + word +
            "' as it stands. If it needs names of files, write [sh, -c, \"…\"] and start: when-done, because "
            "a shell finds only what is published");
  for (const std::string& word : component.command) {
    const std::size_t begin = word.find('=') + 1;  // of --input=~/x; npos + 1 is 0
    if (word.compare(begin, 2, "~/") != 0) continue;
    return reader.findings().warning(component.command_position, "nothing expands the '~' of '" + word +
                                                                     "' in the command of component '" +
                                                                     component.name +
                                                                     "': write the whole path");
  }
}

/// Programs may have braces of their own, so that this is no mistake.
void warn_of_placeholders(ValueReader& reader, const Component& component) {
  const std::vector<std::string> known{"{instance}", "{resume}"};
  for (const std::string& word : component.command) {
    const std::size_t begin = word.find('{'), end = word.find('}', begin);
    if (begin == std::string::npos || end == std::string::npos) continue;
    const std::string found = word.substr(begin, end + 1 - begin);
    const std::string guess = formats::suggestion(found, known);
    const bool is_known = std::ranges::find(known, found) != known.end() || found.starts_with("{instance:");
    if (guess.empty() || is_known) continue;
    reader.findings().warning(component.command_position, "the command of component '" + component.name +
                                                              "' contains " + found + guess +
                                                              " The program gets it as it is written");
  }
}

/// A command may mean them as they are.
void warn_of_job_words(ValueReader& reader, const Component& component) {
  if (component.for_each) return;
  for (const std::string& word : component.command) {
    for (const std::string_view placeholder : job_placeholders) {
      if (word.find(placeholder) == std::string::npos) continue;
      return reader.findings().warning(
          component.command_position,
          "the command of component '" + component.name + "' contains " + std::string(placeholder) +
              ", which stands for a file only with 'for-each': add for-each: with "
              "the path of a rule, or take it as it is");
    }
  }
}

/// Reads a directory and makes its path absolute.
std::filesystem::path read_directory(ValueReader& reader, const Value& value,
                                     const std::filesystem::path& base) {
  const auto text = reader.text(value, "a directory");
  if (!text) return base;
  if (text->empty()) {
    reader.findings().mistake(value.position,
                              value.what + " is empty: write '.' for the directory of the workflow file");
    return base;
  }
  if (const std::string problem = path_problem(*text); !problem.empty()) {
    reader.findings().mistake(value.position, value.what + " is '" + *text + "': " + problem);
    return base;
  }
  return (base / *text).lexically_normal();
}

void read_restart_delay(ValueReader& reader, const Section& section, FailurePolicy& policy) {
  const Value* const value = section.find("restart-delay");
  if (value == nullptr) return;
  const std::string forms = "a time of at most 30 days: 500ms, 1s, 2min, 1h";
  const auto text = reader.text(*value, forms);
  const auto delay = text ? parse_duration(*text) : std::nullopt;
  if (text && !delay) reader.expected(*value, forms);
  if (delay) policy.restart_delay = *delay;
  if (policy.restarts == 0)
    reader.findings().mistake(value->position,
                              value->what + " has no effect: without 'restarts' nothing is started again");
}

Component read_component(ValueReader& reader, const NamedValue& named, const std::filesystem::path& base) {
  Component component;
  component.name = named.name;
  component.position = named.name_position;
  component.command_position = named.name_position;
  component.directory = base;
  const std::string where = "in component '" + named.name + "'";
  if (!is_name(named.name)) {
    reader.findings().mistake(
        named.name_position,
        "'" + named.name + "' is not a valid component name: use " + std::string(name_form));
  }
  const auto section = reader.section(named.value, key_names(KeySection::component), where);
  if (!section) return component;
  if (const Value* value = section->find("command")) {
    component.command = read_command(reader, *value);
    component.command_position = value->position;
  } else {
    reader.findings().mistake(
        named.name_position,
        "component '" + named.name + "' has no 'command': write the program and its arguments");
  }
  read_simple_keys(reader, *section, KeySection::component, component);
  if (const Value* value = section->find("directory"))
    component.directory = read_directory(reader, *value, base);
  if (const Value* value = section->find("environment"))
    component.environment = read_environment(reader, *value);
  if (const Value* value = section->find("launcher")) {
    component.launcher = read_launcher(reader, *value);
    if (component.ranks == 0) {
      reader.findings().mistake(
          value->position,
          value->what + " has no effect: without 'ranks' the component is started without a launcher");
    }
  }
  if (const Value* value = section->find("launcher-options")) {
    component.launcher_options = read_words(reader, *value, "options");
    if (component.ranks == 0 && !component.launcher_options.empty()) {
      reader.findings().mistake(
          value->position,
          value->what + " has no effect: without 'ranks' the component is started without the launcher");
    }
  }
  read_starts(reader, *section, component);
  warn_of_job_words(reader, component);
  warn_of_shell_words(reader, component);
  if (!component.for_each) warn_of_placeholders(reader, component);
  if (component.for_each) return component;
  read_restart_delay(reader, *section, component.failure);
  check_ensemble_keys(reader, *section, component);
  return component;
}

}  // namespace

std::string path_problem(const std::string& path) {
  if (path == "~" || path.starts_with("~/")) return "nothing expands '~': write the whole path";
  if (const std::string found = variable_in(path); !found.empty())
    return "nothing expands " + found + ": write the whole path, or one relative to the workflow file";
  if (path.find('\\') != std::string::npos)
    return "the names of directories are separated by '/', and not by '\\'";
  return {};
}

std::vector<Component> read_components(ValueReader& reader, const Value& value,
                                       const std::filesystem::path& base_directory) {
  std::vector<Component> components;
  const auto entries = reader.named_values(value, "component");
  if (!entries) return components;
  if (entries->empty())
    reader.findings().mistake(value.position,
                              "'components' is empty: a workflow starts at least one component");
  for (const NamedValue& entry : *entries)
    components.push_back(read_component(reader, entry, base_directory));
  return expand_components(components, reader.findings());
}

}  // namespace sluice::workflows
