#pragma once
#include <string>
#include <vector>

namespace sluice::coordinator {

/// A command as a user types it, taken apart: what `mpirun -n 4 ./model in.nml` says of a component.
struct CommandWords {
  std::vector<std::string> typed;    ///< all words, with the launcher
  std::vector<std::string> program;  ///< the program and its arguments
  int ranks = 0;                     ///< of the launcher's -n; 0: no launcher, or no number
  std::string launcher;              ///< "mpirun", "mpiexec.hydra", "srun", …; empty: none
  std::vector<std::string> options;  ///< of the launcher, without the number of ranks
  std::string problem;               ///< why it is no command; empty: it is one
};

[[nodiscard]] CommandWords read_command(const std::string& text);

}  // namespace sluice::coordinator
