#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

using Hints = std::map<std::string, std::string>;

/// The hints of PNETCDF_HINTS ("key=value;key=value"). Parts of another form are skipped.
[[nodiscard]] Hints parse_hints(std::string_view text);

/// The user's info object combined with the environment variable PNETCDF_HINTS, which wins. Unknown hints are
/// carried along. The result can include one internal hint, which inquiries do not show. It applies if the
/// environment aligns the record section: the alignment of the data section without fixed-size variables.
[[nodiscard]] Hints collect_hints(MPI_Info user);

/// The mode and the hints of create or open.
struct ModeAndHints {
  int mode = 0;
  Hints hints;
  std::vector<std::string> coupling = {};  ///< match of a workflow rule; without zero bytes
  bool is_safe_mode = false;               ///< PNETCDF_SAFE_MODE: all ranks compare, or none
};
/// Collective: returns the mode and hints of rank 0, which all ranks use. Hints decide where data lies in the
/// file and which ranks exchange data, and working directories can differ between ranks.
[[nodiscard]] ModeAndHints mode_and_hints_of_root(const Communicator& comm, const ModeAndHints& mine);

/// Throws Error(NC_EDRIVER) if the hint nc_driver names no I/O driver of PnetCDF 1.15. Sluice's own file
/// access replaces these drivers.
void check_io_driver(const Hints& hints);

/// The value of a hint in bytes; 0 if the hint is missing, negative or not a number.
[[nodiscard]] std::int64_t byte_hint(const Hints& hints, const std::string& key);

/// nc_header_align_size, nc_var_align_size, nc_record_align_size.
[[nodiscard]] formats::AlignmentHints alignment_hints_of(const Hints& hints);

/// nc_in_place_swap as PnetCDF reads it: "enable", "disable", or "auto" for any other value.
[[nodiscard]] std::string in_place_swap_of(const Hints& hints);

/// The hints that ncmpi_inq_file_info shows: the user's hints, the hints in force below the driver, and
/// PnetCDF's hints with the values in force.
[[nodiscard]] Hints hints_in_force(const Hints& asked, const Hints& below,
                                   const formats::LayoutOptions& layout);

}  // namespace sluice::api
