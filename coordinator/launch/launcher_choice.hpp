#pragma once
#include <vector>

#include "readiness.hpp"

namespace sluice::coordinator {

/// Gives each component with ranks its launcher: for `mpirun` that of the MPI that its program has, under the
/// name that PATH has for it. srun gets the option for MPICH's process manager, where the program needs that.
void choose_launchers(workflows::Workflow& workflow, const Inspections& inspections,
                      const Environment& environment);

/// Finds programs whose launcher is of another MPI, and coupled programs of an MPI for which Sluice was not
/// built.
[[nodiscard]] std::vector<workflows::Mistake> find_mpi_mistakes(const workflows::Workflow& workflow,
                                                                const Inspections& inspections,
                                                                const Installation& installation);

}  // namespace sluice::coordinator
