#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::workflows {

/// The error in a command that cannot be split, with a remedy.
struct ShellWordsProblem {
  std::string text;
};

struct ShellWords {
  std::vector<std::string> words;
  std::vector<ShellWordsProblem> problems;
};

/// Splits a command as a POSIX shell does (blanks, single and double quotes, backslash), without any
/// expansion. Unquoted syntax that needs a shell is an error, because no shell runs the command: pipes,
/// redirections, variables, command substitution.
[[nodiscard]] ShellWords split_shell_words(std::string_view command);

}  // namespace sluice::workflows
