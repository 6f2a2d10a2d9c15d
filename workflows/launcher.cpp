#include <algorithm>

#include "schema.hpp"
#include "shell_words.hpp"
#include "sluice/formats/near_match.hpp"

namespace sluice::workflows {

using formats::suggestion;

namespace {

const std::vector<std::string> launcher_keys{"command"};
const std::vector<std::string> launchers{"mpirun", "srun", "none"};
const std::vector<std::string> placeholders{std::string(ranks_placeholder), std::string(program_placeholder)};

/// The first "{name}" of a word from `at` on; empty when there is none.
std::string placeholder_in(const std::string& word, std::size_t& at) {
  const std::size_t begin = word.find('{', at);
  const std::size_t end = begin == std::string::npos ? begin : word.find('}', begin);
  if (end == std::string::npos) return "";
  at = end + 1;
  return word.substr(begin, end + 1 - begin);
}

/// What is wrong with a command line's placeholders; empty when nothing is.
std::string placeholder_mistake(const std::vector<std::string>& words) {
  bool has_ranks = false;
  for (const std::string& word : words) {
    std::size_t at = 0;
    for (std::string found = placeholder_in(word, at); !found.empty(); found = placeholder_in(word, at)) {
      if (std::find(placeholders.begin(), placeholders.end(), found) == placeholders.end())
        return "contains " + found + suggestion(found, placeholders) + "; there are {ranks} and {program}";
      if (found == program_placeholder && word != program_placeholder)
        return "contains '" + word + "': {program} is a word of its own";
      has_ranks = has_ranks || found == ranks_placeholder;
    }
  }
  const auto programs = std::count(words.begin(), words.end(), program_placeholder);
  if (!has_ranks) return "does not contain {ranks}";
  if (programs == 0) return "does not contain {program}";
  if (programs > 1) return "contains {program} more than once";
  if (words.front() == program_placeholder) return "begins with {program}: name the launcher before it";
  return "";
}

Launcher read_custom(ValueReader& reader, const Value& value) {
  Launcher launcher;
  launcher.kind = Launcher::Kind::custom;
  const auto section = reader.section(value, launcher_keys, "in 'launcher'");
  if (!section) return launcher;
  const Value* command = section->find("command");
  if (command == nullptr) {
    reader.findings().mistake(
        value.position,
        "there is no 'command' in 'launcher': it is a command line with {ranks} and {program}");
    return launcher;
  }
  const auto text = reader.text(*command, "a command line with {ranks} and {program}");
  if (!text) return launcher;
  ShellWords split = split_shell_words(*text);
  for (const ShellWordsProblem& problem : split.problems)
    reader.findings().mistake(command->position, command->what + " is '" + *text + "': " + problem.text);
  if (const std::string mistake = placeholder_mistake(split.words); !mistake.empty())
    reader.findings().mistake(command->position, command->what + ' ' + mistake);
  launcher.command = std::move(split.words);
  return launcher;
}

}  // namespace

Launcher read_launcher(ValueReader& reader, const Value& value) {
  if (value.is_mapping()) return read_custom(reader, value);
  const auto word = reader.choice(value, launchers);
  if (word == "srun") return {Launcher::Kind::srun};
  return {word == "none" ? Launcher::Kind::none : Launcher::Kind::mpirun};
}

}  // namespace sluice::workflows
