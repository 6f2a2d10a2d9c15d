#include "mpi_family.hpp"

#include <algorithm>
#include <array>

namespace sluice::coordinator {
namespace {

/// Libraries of MPICH's ABI initiative have version 12 of libmpi, MPICH's own names and Debian's are others.
/// Open MPI's libmpi has had that version, too, ten years ago; then its own run-time library is there.
constexpr std::array<std::string_view, 6> of_mpich{"libmpich.so.",  "libmpi.so.12",      "libmpifort.so.12",
                                                   "libmpichfort.", "libmpi_cray.so.12", "libmpi_gnu"};
constexpr std::array<std::string_view, 3> of_open_mpi{"libmpi.so.", "libopen-rte.so.", "libmpi_mpifh.so."};

template <std::size_t count>
bool contains_any(const std::vector<std::string>& libraries,
                  const std::array<std::string_view, count>& beginnings) {
  return std::ranges::any_of(libraries, [&](const std::string& library) {
    return std::ranges::any_of(beginnings,
                               [&](std::string_view beginning) { return library.starts_with(beginning); });
  });
}

}  // namespace

std::string_view name_of(MpiFamily family) {
  return family == MpiFamily::open_mpi ? "Open MPI" : "MPICH";
}

std::optional<MpiFamily> find_mpi_family(const std::vector<std::string>& libraries) {
  const bool has_run_time = contains_any(libraries, std::array<std::string_view, 1>{"libopen-rte.so."});
  if (!has_run_time && contains_any(libraries, of_mpich)) return MpiFamily::mpich;
  if (contains_any(libraries, of_open_mpi)) return MpiFamily::open_mpi;
  return std::nullopt;
}

}  // namespace sluice::coordinator
