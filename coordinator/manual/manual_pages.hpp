#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::coordinator {

/// A command for the manual page: its name and what its --help prints.
struct CommandHelp {
  std::string name;
  std::string help;
};

/// The manual page sluice(1), in the language of man. `usage`: what sluice --help prints.
[[nodiscard]] std::string command_manual(std::string_view usage, const std::vector<CommandHelp>& commands);
/// The manual page sluice-workflow(5). It follows the table of keys.
[[nodiscard]] std::string workflow_manual();

/// Markdown without links and marks.
[[nodiscard]] std::string plain_text(std::string_view markdown);

}  // namespace sluice::coordinator
