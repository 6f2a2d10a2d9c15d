#pragma once
#include <string>

#include "image_session.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::files {

/// The session of this process. A forked child has one of its own. Throws Error where the environment is
/// damaged.
[[nodiscard]] ImageSession& process_session();

/// Whether the process has called MPI_Init: then all files are ordinary ones for this library.
[[nodiscard]] bool uses_mpi() noexcept;

/// Whether a call of PnetCDF opens the file: then it is none of the program's own.
[[nodiscard]] bool is_opened_by_pnetcdf() noexcept;

/// `path` from the directory of a descriptor on; empty where the directory cannot be found.
[[nodiscard]] std::string whole_path(int directory, const char* path);

}  // namespace sluice::files
