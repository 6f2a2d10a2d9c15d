#include "command_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "sluice/workflows/command_advice.hpp"
#include "sluice/workflows/shell_words.hpp"
#include "whole_number.hpp"

namespace sluice::coordinator {
namespace {

/// How the number of ranks is given. What begins so may have the number at its end: -n4, --ntasks=4.
constexpr std::array<std::string_view, 6> numbers{"-n", "-np", "--np", "--n", "--ntasks", "-c"};
/// Options with one value, and with two.
constexpr std::array<std::string_view, 36> with_value{
    "--bind-to", "--map-by", "--rank-by",   "-x",         "--host",    "-host",
    "-H",        "-hosts",   "--hosts",     "--hostfile", "-hostfile", "--machinefile",
    "-f",        "--prefix", "-env",        "--wdir",     "-wdir",     "--output-filename",
    "-N",        "-A",       "-p",          "-t",         "-J",        "-w",
    "-npernode", "-ppn",     "--ppn",       "-bind-to",   "-map-by",   "--rankfile",
    "-rf",       "--nodes",  "--partition", "--account",  "--time",    "--cpus-per-task"};
constexpr std::array<std::string_view, 3> with_two_values{"--mca", "-mca", "-genv"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

int number_of(std::string_view word) {
  return whole_number<int>(word).value_or(0);
}

/// Of srun, -c is the number of processors of a rank.
bool gives_number(std::string_view option, std::string_view launcher) {
  return contains(numbers, option) && (option != "-c" || launcher != "srun");
}

/// The number in one word with its option; 0: the word is another option.
int attached_number(const std::string& word, std::string_view launcher) {
  for (const std::string_view option : numbers) {
    if (!word.starts_with(option) || !gives_number(option, launcher)) continue;
    const std::string_view rest = std::string_view(word).substr(option.size());
    if (const int number = number_of(rest.starts_with('=') ? rest.substr(1) : rest); number > 0)
      return number;
  }
  return 0;
}

/// Takes the launcher's options from the words; what is left is the program.
void take_options(CommandWords& command) {
  std::size_t i = 1;
  const auto& words = command.typed;
  while (i < words.size() && words[i].starts_with('-')) {
    const std::string& option = words[i];
    const bool is_number = gives_number(option, command.launcher);
    const bool has_value = contains(with_value, option) || contains(numbers, option);
    const std::size_t values = contains(with_two_values, option) ? 2 : has_value ? 1 : 0;
    const std::size_t end = std::min(i + 1 + values, words.size());
    if (const int number = attached_number(option, command.launcher); number > 0) {
      command.ranks = number;
    } else if (is_number && end == i + 2) {
      command.ranks = number_of(words[i + 1]);
      if (command.ranks == 0)
        command.problem = "'" + words[i + 1] + "' behind " + option + " is no number of ranks";
    } else {
      command.options.insert(command.options.end(), words.begin() + static_cast<std::ptrdiff_t>(i),
                             words.begin() + static_cast<std::ptrdiff_t>(end));
    }
    i = end;
  }
  command.program.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  if (command.program.empty())
    command.problem = "it has no program behind the options of " + command.launcher;
  if (std::ranges::find(command.program, ":") != command.program.end())
    command.problem =
        "it starts several programs in one MPI_COMM_WORLD (':'), and a component has one program: "
        "give each program as a command of its own where they talk by files alone";
}

}  // namespace

CommandWords read_command(const std::string& text) {
  CommandWords command;
  workflows::ShellWords split = workflows::split_shell_words(text);
  if (!split.problems.empty()) {
    const std::string& problem = split.problems.front().text;
    const bool has_quotes = text.find('\'') != std::string::npos;
    const std::size_t advice = problem.find(". Put");
    command.problem = problem.substr(0, advice);
    if (advice == std::string::npos) return command;  // no shell would help
    command.problem += has_quotes ? ": write a script of it, and give that"
                                  : ": give it to a shell as \"sh -c '" + text + "'\", or write a script";
    return command;
  }
  command.typed = std::move(split.words);
  if (command.typed.empty()) {
    command.problem = "it is empty";
    return command;
  }
  const std::string name = std::filesystem::path(command.typed.front()).filename().string();
  if (workflows::is_mpi_launcher(name)) {
    command.launcher = name;
    take_options(command);
  } else {
    command.program = command.typed;
  }
  if (command.problem.empty()) command.problem = workflows::advice_on_begin(command.program, false);
  return command;
}

}  // namespace sluice::coordinator
