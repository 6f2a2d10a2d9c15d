#include "command_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "sluice/workflows/command_advice.hpp"
#include "sluice/workflows/shell_words.hpp"

namespace sluice::coordinator {
namespace {

constexpr std::array<std::string_view, 5> numbers{"-n", "-np", "--np", "--ntasks", "-c"};
/// Options with one value, and with two.
constexpr std::array<std::string_view, 16> with_value{
    "--bind-to", "--map-by",      "--rank-by", "-x",       "--host", "-host",  "-H",    "--hostfile",
    "-hostfile", "--machinefile", "-f",        "--prefix", "-env",   "--wdir", "-wdir", "--output-filename"};
constexpr std::array<std::string_view, 3> with_two_values{"--mca", "-mca", "-genv"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

int number_of(const std::string& word) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : 0;
}

/// Takes the launcher's options from the words; what is left is the program.
void take_options(CommandWords& command) {
  std::size_t i = 1;
  const auto& words = command.typed;
  while (i < words.size() && words[i].starts_with('-')) {
    const std::string& option = words[i];
    const std::size_t values = contains(with_two_values, option)                           ? 2
                               : contains(with_value, option) || contains(numbers, option) ? 1
                                                                                           : 0;
    const std::size_t end = std::min(i + 1 + values, words.size());
    if (contains(numbers, option) && end == i + 2) {
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
    command.problem = problem.substr(0, problem.find(". Put"));
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
