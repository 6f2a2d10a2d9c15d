#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::workflows {

/// A command that cannot be split: what is wrong with it and what to do.
struct ShellWordsProblem {
  std::string text;
};

struct ShellWords {
  std::vector<std::string> words;
  std::vector<ShellWordsProblem> problems;
};

/// Splits a command as a POSIX shell does (blanks, single and double quotes, backslash), without any
/// expansion. What only a shell could do (pipes, redirections, variables, command substitution), when not
/// quoted, is a problem: the command is not run by a shell.
[[nodiscard]] ShellWords split_shell_words(std::string_view command);

}  // namespace sluice::workflows
