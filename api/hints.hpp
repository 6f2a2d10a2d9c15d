#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

using Hints = std::map<std::string, std::string>;

/// The hints of PNETCDF_HINTS ("key=value;key=value"); what is not of that form is left out.
[[nodiscard]] Hints parse_hints(std::string_view text);

/// The user's info object and the environment variable PNETCDF_HINTS in one; the latter wins. Hints that
/// nobody knows are carried through. One hint of our own may be among them, which is not shown: where the
/// environment aligns the record section, that is the data section's alignment without fixed-size variables.
[[nodiscard]] Hints collect_hints(MPI_Info user);

/// The mode and the hints of create or open.
struct ModeAndHints {
  int mode = 0;
  Hints hints;
  std::vector<std::string> coupling = {};  ///< what is said of the workflow's rule; without zero bytes
};
/// Collective: rank 0's, which are in force on all ranks: hints decide where data lies in the file, and who
/// exchanges it with whom; working directories may differ.
[[nodiscard]] ModeAndHints mode_and_hints_of_root(const Communicator& comm, const ModeAndHints& mine);

/// Throws Error(NC_EDRIVER) where the hint nc_driver names none of PnetCDF's I/O drivers (of version 1.15),
/// which our own file access stands in for.
void check_io_driver(const Hints& hints);

/// The number of a hint in bytes; 0 where it is not there, negative or no number.
[[nodiscard]] std::int64_t byte_hint(const Hints& hints, const std::string& key);

/// nc_header_align_size, nc_var_align_size, nc_record_align_size.
[[nodiscard]] formats::AlignmentHints alignment_hints_of(const Hints& hints);

/// nc_in_place_swap as PnetCDF understands it: "enable", "disable", or else "auto".
[[nodiscard]] std::string in_place_swap_of(const Hints& hints);

/// What ncmpi_inq_file_info shows: the user's hints, those that are in force below the driver, and PnetCDF's
/// with the values in force.
[[nodiscard]] Hints hints_in_force(const Hints& asked, const Hints& below,
                                   const formats::LayoutOptions& layout);

}  // namespace sluice::api
