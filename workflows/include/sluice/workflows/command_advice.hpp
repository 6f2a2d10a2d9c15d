#pragma once
#include <span>
#include <string>
#include <string_view>

namespace sluice::workflows {

/// Whether the word, a name or a path, is a program that starts MPI programs: mpirun, srun, …
[[nodiscard]] bool is_mpi_launcher(std::string_view word);
/// "NAME=value", as a shell sets a variable before a command.
[[nodiscard]] bool is_assignment(std::string_view word);
/// Why the first words of a command start no program, and what to write; empty: they may. `in_workflow`: keys
/// of a component can do what a shell would.
[[nodiscard]] std::string advice_on_begin(std::span<const std::string> words, bool in_workflow);
/// What is wrong with a word that begins with a quote of text processors; empty: it does not.
[[nodiscard]] std::string other_quote_of(std::string_view word);
/// A word that a shell would expand to names of files, in a command that no shell runs; empty: there is none,
/// or the program may expand it itself.
[[nodiscard]] std::string unexpanded_names_in(std::span<const std::string> words);
/// What to write in place of a text that only a shell understands; empty: nothing better is known than a
/// shell.
[[nodiscard]] std::string advice_on_shell_text(std::string_view text);
/// The launcher in the command, behind programs that only start another one (env, time, nice), or as a
/// command of `sh -c`; empty: there is none.
[[nodiscard]] std::string launcher_in(std::span<const std::string> words);

}  // namespace sluice::workflows
