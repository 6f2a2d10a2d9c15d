#pragma once
#include <string>
#include <vector>

namespace sluice::coordinator {

/// The arguments after the command's name.
using Arguments = std::vector<std::string>;

/// `sluice run`, `check`, `exec`: each returns the exit status. What goes wrong in the command line or the
/// workflow is told on stderr.
[[nodiscard]] int run_command(const Arguments& arguments);
[[nodiscard]] int check_command(const Arguments& arguments);
[[nodiscard]] int exec_command(const Arguments& arguments);
/// `sluice recover`, `sluice log`: burst-buffer logs into files, and onto the terminal.
[[nodiscard]] int recover_command(const Arguments& arguments);
[[nodiscard]] int log_command(const Arguments& arguments);
/// `sluice merge`: several files into one.
[[nodiscard]] int merge_command(const Arguments& arguments);

/// The whole program, for main(): picks the command. `arguments` without the program's name.
[[nodiscard]] int dispatch(const Arguments& arguments);

}  // namespace sluice::coordinator
