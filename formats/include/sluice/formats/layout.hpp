#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// Alignment and reserved room in bytes, as in ncmpi__enddef and PnetCDF's hints. 0 means "not asked for".
struct LayoutOptions {
  std::int64_t header_align_bytes = 0;    ///< v_align, or hint nc_header_align_size: end of the header's room
  std::int64_t header_free_bytes = 0;     ///< h_minfree: room behind the header
  std::int64_t variable_align_bytes = 0;  ///< hint nc_var_align_size: start of each fixed-size variable
  std::int64_t variable_free_bytes = 0;   ///< v_minfree: room behind the fixed-size data section
  std::int64_t record_align_bytes =
      0;  ///< r_align, or hint nc_record_align_size: start of the record section
};

/// The options of one enddef. Alignments that `held` has (from hints, or from an enddef before) stay in force
/// while the file is open; others come from `arguments` (of ncmpi__enddef; all 0 for ncmpi_enddef) or are the
/// defaults, all as multiples of 4; room is the arguments'. The result is what is held for the next time.
/// `header` is what is to be laid out. Source: PnetCDF 1.12.3, by experiment.
[[nodiscard]] LayoutOptions options_in_force(const LayoutOptions& held, const LayoutOptions& arguments,
                                             const Header& header);

/// Bytes of the variable, or of one record of it, without padding. Throws Error(NC_EVARSIZE) when that is
/// more than 2^63 - 4, which no format can hold. The second one is for a variable that is not in `header`
/// yet, but its dimensions are.
[[nodiscard]] std::int64_t data_bytes(const Header& header, int varid);
[[nodiscard]] std::int64_t data_bytes(const Header& header, const Variable& variable);

/// Where things are in the file; all in bytes.
struct Layout {
  std::int64_t header_size = 0;    ///< encoded header
  std::int64_t header_extent = 0;  ///< start of the data section
  std::int64_t record_begin =
      0;  ///< start of the record section; where it would start when there are no record variables
  std::int64_t record_size = 0;  ///< bytes of one record of all record variables
};

/// Assigns begin and vsize to all variables of `header` and returns the layout; the same bytes as
/// PnetCDF 1.12.3 lays out (docs/formats/cdf.md, "Layout"). With `previous` (the layout before a redef)
/// variables that have a begin only move to higher offsets, and only when they must; new variables come with
/// begin 0. Throws NC_EVARSIZE where the version's limits do not allow it; `header` is unchanged then.
Layout compute_layout(Header& header, const LayoutOptions& options, const Layout* previous);

/// The layout that a decoded header describes (its begins are kept). Without variables there is no data
/// section: its offsets are 0.
[[nodiscard]] Layout layout_of(const Header& header, std::int64_t header_size_bytes);

/// One contiguous run of a hyperslab in the file.
struct FileRun {
  std::int64_t offset_bytes = 0;
  std::int64_t length_bytes = 0;
  bool operator==(const FileRun&) const = default;
};

/// Appends the contiguous runs, in row-major order of the selection, neighbours merged (never with runs that
/// were there before). Shapes: start, count, stride have one entry per dimension; stride empty means 1
/// everywhere. Nothing is checked against the variable's bounds.
void append_runs(const Header& header, const Layout& layout, int varid, std::span<const std::int64_t> start,
                 std::span<const std::int64_t> count, std::span<const std::int64_t> stride,
                 std::vector<FileRun>& runs);

}  // namespace sluice::formats
