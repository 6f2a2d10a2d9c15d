#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sluice::runtime {

/// The variables in which a launcher tells a process its place in the MPI world of its job.
struct RankVariables {
  const char* rank;
  const char* size;                  ///< null: there is none
  const char* local_rank;            ///< among the ranks of its machine; null: there is none
  const char* local_size = nullptr;  ///< how many ranks these are
  const char* nodes = nullptr;       ///< how many machines have ranks
};
/// Those of launchers of MPI come before Slurm's, which the script of a batch job has, too.
inline constexpr std::array<RankVariables, 5> rank_variables{{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMIX_RANK", nullptr, nullptr},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},  // HYDRA; srun sets the first two
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr, "SLURM_STEP_NUM_NODES"},
    {"PMI_RANK", "PMI_SIZE", "PMI_RANK"},
}};

/// The place of a process in the MPI world of its component, from the launcher's environment.
struct WorldPlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;  ///< among the ranks of its machine
  bool spans_nodes = false;      ///< other machines have ranks, as far as the launcher tells
};

/// The value of an environment variable, or null.
using VariableLookup = std::function<const char*(const char* name)>;

/// The rank alone. Serial programs have none.
[[nodiscard]] std::optional<std::uint32_t> find_rank(const VariableLookup& variable);

/// Reads the variables of Open MPI's, Slurm's or a PMI launcher. Without them the process counts as serial.
[[nodiscard]] WorldPlace world_place(const VariableLookup& variable);

/// How processes share the matchers of a machine: `matchers` for each node, and the number of virtual nodes.
struct MatcherShares {
  std::uint32_t matchers = 1;
  std::uint32_t virtual_nodes = 1;
};

/// The index of the matcher that a process talks to, among the matchers of its machine. Ranks go in blocks to
/// virtual nodes, and in turn to the matchers of a node.
[[nodiscard]] std::uint32_t matcher_index(const WorldPlace& place, const MatcherShares& shares) noexcept;

/// The socket of a machine's `index`th matcher; `first` is the socket of the first matcher.
[[nodiscard]] std::string matcher_socket_path(const std::string& first, std::uint32_t index);

}  // namespace sluice::runtime
