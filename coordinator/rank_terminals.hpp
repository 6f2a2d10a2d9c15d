#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// A pseudo-terminal for the stdout of each rank of a component. Open MPI's mpirun gives its ranks terminals
/// too (so that their output is not held back), but what it forwards mixes the lines of different ranks; here
/// each rank's lines stay whole.
struct RankTerminals {
  std::filesystem::path prefix;                    ///< "PREFIX.RANK" is the terminal of a rank
  std::vector<runtime::FileDescriptor> read_ends;  ///< what the ranks write
  std::vector<runtime::FileDescriptor> kept_open;  ///< while these are open no read end sees an end
};

/// More ranks than this are left to mpirun's forwarding: each terminal takes two descriptors.
inline constexpr int most_rank_terminals = 64;

/// Opens them and links them into `directory`; nothing where the system gives no terminals.
[[nodiscard]] std::optional<RankTerminals> open_rank_terminals(const std::filesystem::path& directory,
                                                               const std::string& component, int ranks);

/// `command` with a shell before it that lets the rank write to its terminal.
[[nodiscard]] std::vector<std::string> redirected_to_terminal(const std::filesystem::path& prefix,
                                                              std::vector<std::string> command);

}  // namespace sluice::coordinator
