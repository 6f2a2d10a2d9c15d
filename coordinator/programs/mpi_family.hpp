#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::coordinator {

/// A binary interface of MPI. A program of one cannot use a library, or a launcher, of the other.
enum class MpiFamily {
  open_mpi,
  mpich,  ///< MPICH, and what has its ABI: Intel MPI, MVAPICH, Cray MPICH
};

/// "Open MPI" or "MPICH".
[[nodiscard]] std::string_view name_of(MpiFamily family);

/// The MPI in a list of shared libraries, such as libmpi.so.40 or libmpich.so.12; nothing if there is none.
[[nodiscard]] std::optional<MpiFamily> find_mpi_family(const std::vector<std::string>& libraries);

}  // namespace sluice::coordinator
