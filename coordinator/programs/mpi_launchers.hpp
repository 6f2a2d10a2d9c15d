#pragma once
#include <string>

#include "environment.hpp"
#include "mpi_family.hpp"

namespace sluice::coordinator {

/// The launcher of an MPI, or the reason why there is none.
struct MpiLauncher {
  std::string program;  ///< its name in PATH: "mpirun", "mpirun.openmpi", "mpiexec.hydra", …
  std::string version;  ///< the first lines of its --version that say what it is
  std::string problem;  ///< empty when found
};

/// Looks in PATH for the launcher of `family`. A name such as mpirun may belong to either MPI, so each
/// candidate is asked for its version.
[[nodiscard]] MpiLauncher find_mpi_launcher(MpiFamily family, const Environment& environment);

}  // namespace sluice::coordinator
