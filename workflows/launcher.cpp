#include <algorithm>

#include "schema.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/workflows/shell_words.hpp"

namespace sluice::workflows {

using formats::suggestion;

namespace {

const std::vector<std::string> launcher_keys{"command"};
const std::vector<std::string> placeholders{std::string(ranks_placeholder), std::string(program_placeholder)};

/// The first "{name}" of a word at or after `at`; empty if there is none.
std::string placeholder_in(const std::string& word, std::size_t& at) {
  const std::size_t begin = word.find('{', at);
  const std::size_t end = begin == std::string::npos ? begin : word.find('}', begin);
  if (end == std::string::npos) return "";
  at = end + 1;
  return word.substr(begin, end + 1 - begin);
}

/// The error in a command line's placeholders; empty if there is none.
std::string placeholder_mistake(const std::vector<std::string>& words) {
  bool has_ranks = false;
  for (const std::string& word : words) {
    std::size_t at = 0;
    for (std::string found = placeholder_in(word, at); !found.empty(); found = placeholder_in(word, at)) {
      if (std::find(placeholders.begin(), placeholders.end(), found) == placeholders.end()) {
        const std::string guess = suggestion(found, placeholders);
        return "contains " + found + guess + (guess.empty() ? ": the" : " The") +
               " placeholders are {ranks} and {program}";
      }
      if (found == program_placeholder && word != program_placeholder)
        return "contains '" + word + "': write {program} as a separate word";
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
  const auto word = reader.choice(value, key_of(KeySection::workflow, "launcher").words);
  if (word == "srun") return {Launcher::Kind::srun};
  if (word == "mpiexec.hydra") return {Launcher::Kind::hydra};
  return {word == "none" ? Launcher::Kind::none : Launcher::Kind::mpirun};
}

}  // namespace sluice::workflows
