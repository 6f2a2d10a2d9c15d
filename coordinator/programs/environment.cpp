#include "environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::coordinator {
namespace {

/// Variables that Open MPI's mpirun sets for its processes; variables that users may also set are not among
/// them.
constexpr std::array<std::string_view, 16> open_mpi_job{"OMPI_COMM_WORLD_",
                                                        "OMPI_MCA_orte_",
                                                        "OMPI_MCA_ess",
                                                        "OMPI_MCA_pmix",
                                                        "OMPI_MCA_shmem_RUNTIME",
                                                        "OMPI_MCA_mpi_oversubscribe",
                                                        "OMPI_MCA_rmaps_base_oversubscribe",
                                                        "OMPI_MCA_initial_wdir",
                                                        "OMPI_COMMAND",
                                                        "OMPI_ARGV",
                                                        "OMPI_UNIVERSE_SIZE",
                                                        "OMPI_NUM_APP_CTX",
                                                        "OMPI_FIRST_RANKS",
                                                        "OMPI_APP_CTX_",
                                                        "OMPI_FILE_LOCATION",
                                                        "OMPI_REMOTE_"};

/// Variables that a process manager sets for its processes.
constexpr std::array<std::string_view, 5> process_manager_job{"PMIX_", "PMI_", "HYDI_", "HYDRA_",
                                                              "MPI_LOCAL"};

template <std::size_t size>
void remove_prefixed(Environment& environment, const std::array<std::string_view, size>& prefixes) {
  std::erase_if(environment, [&](const auto& variable) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return variable.first.starts_with(prefix); });
  });
}

}  // namespace

Environment current_environment() {
  Environment environment;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

void remove_surrounding_job(Environment& environment) {
  if (environment.contains("OMPI_COMM_WORLD_SIZE")) remove_prefixed(environment, open_mpi_job);
  if (environment.contains("PMIX_RANK") || environment.contains("PMI_RANK") ||
      environment.contains("PMI_FD")) {
    remove_prefixed(environment, process_manager_job);
  }
}

std::vector<std::string> as_strings(const Environment& environment) {
  std::vector<std::string> strings;
  for (const auto& [name, value] : environment) strings.push_back(name + '=' + value);
  return strings;
}

}  // namespace sluice::coordinator
