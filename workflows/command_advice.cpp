#include "sluice/workflows/command_advice.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <vector>

namespace sluice::workflows {
namespace {

constexpr std::array<std::string_view, 17> launchers{
    "mpirun",        "mpirun.openmpi", "mpirun.mpich", "mpirun_rsh", "mpiexec", "mpiexec.openmpi",
    "mpiexec.mpich", "mpiexec.hydra",  "orterun",      "prterun",    "prun",    "srun",
    "aprun",         "jsrun",          "ibrun",        "palsrun",    "lrun"};
/// Programs that start the one that follows them, with options and variables between.
constexpr std::array<std::string_view, 11> starters{
    "env", "time", "nice", "nohup", "stdbuf", "numactl", "taskset", "setsid", "timeout", "ionice", "exec"};
constexpr std::array<std::string_view, 5> shells{"sh", "bash", "dash", "zsh", "ksh"};
/// Commands of a shell that are no programs, or do nothing as one.
constexpr std::array<std::string_view, 28> builtins{
    "cd",    "source", ".",     "export", "module", "ulimit", "umask",    "alias",   "eval",  "exec",
    "set",   "unset",  "trap",  "wait",   "read",   "pushd",  "popd",     "declare", "local", "for",
    "while", "if",     "until", "case",   "!",      "{",      "function", "[["};
/// Commands that return at once, while the program runs somewhere else.
constexpr std::array<std::string_view, 6> submitters{"sbatch", "qsub", "bsub", "msub", "oarsub", "ccc_msub"};
/// Programs, or what their names begin with, that expand patterns themselves, take them for something else,
/// or run the text of somebody who does.
constexpr std::array<std::string_view, 22> expanders{
    "python", "R",    "Rscript", "perl", "julia", "ruby",  "lua",  "node",  "ncl", "idl",  "matlab",
    "octave", "gawk", "awk",     "sed",  "grep",  "egrep", "find", "rsync", "cdo", "expr", "xargs"};
/// Quotes of text processors.
constexpr std::array<std::string_view, 6> other_quotes{"\u201c", "\u201d", "\u2018",
                                                       "\u2019", "\u201e", "\u00ab"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view file_name(std::string_view word) {
  return word.substr(word.rfind('/') + 1);
}

/// The first word that is neither a starter nor belongs to one.
std::string launcher_at_begin(std::span<const std::string> words) {
  bool is_behind_starter = false;
  for (const std::string& word : words) {
    if (is_mpi_launcher(word)) return std::string(file_name(word));
    const bool is_of_starter = is_behind_starter && (word.starts_with('-') || is_assignment(word) ||
                                                     word.find_first_not_of("0123456789.smh") == word.npos);
    if (contains(starters, file_name(word)) || is_assignment(word)) {
      is_behind_starter = true;
    } else if (!is_of_starter) {
      return {};
    }
  }
  return {};
}

/// Of each command in a text for a shell.
std::string launcher_in_text(const std::string& text) {
  std::vector<std::string> words;
  std::string separated;
  for (const char c : text)
    separated += std::string_view(";&|()\n").find(c) != std::string_view::npos ? '\n' : c;
  std::istringstream lines(separated);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    words.clear();
    for (std::string word; stream >> word;) words.push_back(word);
    if (std::string launcher = launcher_at_begin(words); !launcher.empty()) return launcher;
  }
  return {};
}

}  // namespace

bool is_mpi_launcher(std::string_view word) {
  return contains(launchers, file_name(word));
}

bool is_assignment(std::string_view word) {
  const std::size_t end = word.find('=');
  if (end == std::string_view::npos || end == 0) return false;
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return false;
  return std::ranges::all_of(word.substr(0, end), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

std::string other_quote_of(std::string_view word) {
  for (const std::string_view quote : other_quotes)
    if (word.starts_with(quote))
      return "'" + std::string(quote) + "' is no quote here, but a part of the name: write ' or \"";
  return {};
}

std::string advice_on_begin(std::span<const std::string> words, bool in_workflow) {
  if (words.empty()) return {};
  const std::string& first = words.front();
  if (is_assignment(first)) {
    const std::size_t end = first.find('=');
    const std::string name = first.substr(0, end), value = first.substr(end + 1);
    const std::string set = "'" + first + "' sets a variable in a shell, and no shell runs the command: ";
    return set + (in_workflow ? "write environment: {" + name + ": \"" + value +
                                    "\"} for the component, and let "
                                    "'command' begin with the program"
                              : "write env " + first + " before the program");
  }
  if (first == "~" || first.starts_with("~/"))
    return "nothing expands the '~' of '" + first + "': write the whole path of the program";
  if (contains(submitters, file_name(first)))
    return "'" + first +
           "' only submits a job, and ends before that runs: write the program itself, and call 'sluice run' "
           "in the script of a job";
  if (first.find('\\') != std::string::npos)
    return "the '\\' of '" + first + "' is a part of the name: write '/' between directories";
  for (const std::string& word : words)
    if (std::string problem = other_quote_of(word); !problem.empty()) return problem;
  if (first == "cd" && in_workflow)
    return "'cd' is a command of a shell, and no shell runs the command: write directory: " +
           (words.size() > 1 ? words[1] : std::string("DIR")) +
           " for the component, and let 'command' begin with the program";
  if (contains(builtins, first))
    return "'" + first + "' is a command of a shell, and no shell runs the command: write a script, or " +
           (in_workflow ? "[sh, -c, \"…\"]" : "sh -c '…'");
  return {};
}

std::string unexpanded_names_in(std::span<const std::string> words) {
  for (const std::string& word : words) {
    const std::string_view name = file_name(word);
    if (contains(shells, name) || contains(expanders, name) || name.starts_with("python")) return {};
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t dot = word.rfind('.');
    const bool is_name = dot != word.npos && dot > 0 && dot + 1 < word.size() &&
                         word.find_first_of(" ()$^\\|;=:+") == word.npos;
    if (!is_name || word.starts_with('-') || words[i - 1].starts_with('-')) continue;
    const std::size_t brace = word.find('{');
    const std::size_t list =
        brace == word.npos ? brace : std::min(word.find(',', brace), word.find("..", brace));
    if (word.find_first_of("*?") != word.npos || list < word.find('}')) return word;
  }
  return {};
}

std::string advice_on_shell_text(std::string_view text) {
  const std::string_view trimmed = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  if (trimmed.starts_with("cd ") && trimmed.find("&&") != std::string_view::npos) {
    const std::string_view rest = trimmed.substr(3);
    const std::string place(rest.substr(0, rest.find_first_of(" &;")));
    return "For a command in another directory, write directory: " + place +
           " for the component, and leave the 'cd' out";
  }
  if (text.find('>') != std::string_view::npos)
    return "The output of each component is shown with its name in front, and 'sluice run FLOW > FILE' keeps "
           "it";
  return {};
}

std::string launcher_in(std::span<const std::string> words) {
  if (words.size() > 2 && contains(shells, file_name(words[0])) && words[1].starts_with('-') &&
      words[1].ends_with('c'))
    return launcher_in_text(words[2]);
  return launcher_at_begin(words);
}

}  // namespace sluice::workflows
