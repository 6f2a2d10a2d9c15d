#pragma once
#include <filesystem>
#include <optional>

#include "environment.hpp"
#include "mpi_family.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// The MPI of a component whose program itself is not linked with one: a Python program has mpi4py's, and a
/// shell, a script or a debugger has that of the first program that its command or its text names. `program`:
/// the component's program. `environment`: the one that it would have. Nothing if none is found.
[[nodiscard]] std::optional<MpiFamily> search_mpi(const workflows::Component& component,
                                                  const std::filesystem::path& program,
                                                  const Environment& environment);

}  // namespace sluice::coordinator
