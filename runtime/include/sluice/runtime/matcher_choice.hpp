#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace sluice::runtime {

/// A process in the MPI world of its component, as the launcher's environment tells.
struct WorldPlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;  ///< among those of its machine
};

/// The value of an environment variable, or null.
using VariableLookup = std::function<const char*(const char* name)>;

/// From the variables of Open MPI's, Slurm's or a PMI launcher; a serial process where there are none.
[[nodiscard]] WorldPlace world_place(const VariableLookup& variable);

/// How the matchers of a machine are shared: so many for each node, and so many virtual nodes.
struct MatcherShares {
  std::uint32_t matchers = 1;
  std::uint32_t virtual_nodes = 1;
};

/// Which of its machine's matchers a process talks to: its ranks in blocks among virtual nodes, and in turn
/// among the matchers of a node.
[[nodiscard]] std::uint32_t matcher_index(const WorldPlace& place, const MatcherShares& shares) noexcept;

/// The socket of a machine's `index`th matcher, given that of its first.
[[nodiscard]] std::string matcher_socket_path(const std::string& first, std::uint32_t index);

}  // namespace sluice::runtime
