#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// A pseudo-terminal for the stdout of each rank of a component. Open MPI's mpirun also gives its ranks
/// terminals, so that their output is not held back. But mpirun mixes the lines of different ranks; these
/// terminals keep each rank's lines whole.
struct RankTerminals {
  std::filesystem::path prefix;                    ///< "PREFIX.RANK" is the terminal of a rank
  std::vector<runtime::FileDescriptor> read_ends;  ///< deliver the output of the ranks
  std::vector<runtime::FileDescriptor>
      kept_open;  ///< while these descriptors are open, no read end reports an end
};

/// The largest number of ranks with terminals of their own, because each terminal needs two descriptors. With
/// more ranks, mpirun forwards the output.
inline constexpr int most_rank_terminals = 64;

/// Opens the terminals and links them into `directory`. Returns nothing if the system provides no terminals.
[[nodiscard]] std::optional<RankTerminals> open_rank_terminals(const std::filesystem::path& directory,
                                                               const std::string& component, int ranks);

/// Returns `command` preceded by a shell that redirects the rank's stdout to its terminal.
[[nodiscard]] std::vector<std::string> redirected_to_terminal(const std::filesystem::path& prefix,
                                                              std::vector<std::string> command);

}  // namespace sluice::coordinator
