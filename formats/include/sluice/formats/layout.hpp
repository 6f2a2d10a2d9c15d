#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// Alignment and reserved room in bytes, as they are asked for. An alignment of 0 is the default.
struct LayoutOptions {
  std::int64_t data_align_bytes = 0;    ///< start of the fixed-size variables, which ends the header's room
  std::int64_t header_free_bytes = 0;   ///< h_minfree: room behind the header
  std::int64_t fixed_free_bytes = 0;    ///< v_minfree: room behind the fixed-size variables
  std::int64_t record_align_bytes = 0;  ///< start of the record section
};

/// The alignments that hints ask for; 0 where they ask for none. They hold as long as the file is open.
struct AlignmentHints {
  std::int64_t data = 0;    ///< nc_var_align_size, or else nc_header_align_size
  std::int64_t record = 0;  ///< nc_record_align_size
};

/// The arguments of ncmpi__enddef; all 0 for ncmpi_enddef. Alignments of 0 ask for none.
struct EnddefArguments {
  std::int64_t data_align = 0;         ///< v_align
  std::int64_t record_align = 0;       ///< r_align
  std::int64_t header_free_bytes = 0;  ///< h_minfree
  std::int64_t fixed_free_bytes = 0;   ///< v_minfree
};

/// The options of one enddef, whatever those of the enddef before were: alignments come from the hints, else
/// from the arguments, as multiples of 4. Room is the arguments'.
/// Source: the documentation and the test expectations of PnetCDF 1.15.
[[nodiscard]] LayoutOptions options_in_force(const AlignmentHints& hints, const EnddefArguments& arguments);

/// The same options with the alignments that `header` is laid out with: 512 by default, and 4 for a record
/// section behind fixed-size variables. Without variables nothing is aligned: 0.
[[nodiscard]] LayoutOptions with_defaults(const LayoutOptions& options, const Header& header);

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
/// PnetCDF 1.15 lays out (docs/formats/cdf.md, "Layout"). With `previous` (the layout before a redef)
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
