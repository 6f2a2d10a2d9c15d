#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// The requested alignment and reserved space in bytes. An alignment of 0 is the default.
struct LayoutOptions {
  std::int64_t data_align_bytes =
      0;  ///< start of the fixed-size variables, which ends the header's reserved space
  std::int64_t header_free_bytes = 0;   ///< h_minfree: space after the header
  std::int64_t fixed_free_bytes = 0;    ///< v_minfree: space after the fixed-size variables
  std::int64_t record_align_bytes = 0;  ///< start of the record section
};

/// The alignments that hints request; 0 without a request. They are valid as long as the file is open.
struct AlignmentHints {
  std::int64_t data = 0;    ///< nc_var_align_size, or else nc_header_align_size
  std::int64_t record = 0;  ///< nc_record_align_size
};

/// The arguments of ncmpi__enddef; all 0 for ncmpi_enddef. An alignment of 0 requests none.
struct EnddefArguments {
  std::int64_t data_align = 0;         ///< v_align
  std::int64_t record_align = 0;       ///< r_align
  std::int64_t header_free_bytes = 0;  ///< h_minfree
  std::int64_t fixed_free_bytes = 0;   ///< v_minfree
};

/// The options of one enddef, independent of the previous enddef. Alignments come from the hints, otherwise
/// from the arguments, as multiples of 4. Reserved space comes from the arguments. Source: the documentation
/// and the test expectations of PnetCDF 1.15.
[[nodiscard]] LayoutOptions options_in_force(const AlignmentHints& hints, const EnddefArguments& arguments);

/// The options with the alignments used to lay out `header`: 512 by default, and 4 for a record section after
/// fixed-size variables. Without variables all alignments are 0.
[[nodiscard]] LayoutOptions with_defaults(const LayoutOptions& options, const Header& header);

/// Bytes of the variable, or of one record of it, without padding. Throws Error(NC_EVARSIZE) if the size
/// exceeds 2^63 - 4, which no format can represent. The second overload is for a variable that is not in
/// `header` yet, but whose dimensions are.
[[nodiscard]] std::int64_t data_bytes(const Header& header, int varid);
[[nodiscard]] std::int64_t data_bytes(const Header& header, const Variable& variable);

/// Positions in the file; all in bytes.
struct Layout {
  std::int64_t header_size = 0;    ///< size of the encoded header
  std::int64_t header_extent = 0;  ///< start of the data section
  std::int64_t record_begin =
      0;  ///< start of the record section; without record variables, where it would start
  std::int64_t record_size = 0;  ///< bytes of one record of all record variables
};

/// Assigns begin and vsize to all variables of `header` and returns the layout. The result equals PnetCDF
/// 1.15's byte for byte (docs/formats/cdf.md, "Layout"). With `previous` (the layout before a redef),
/// variables with a begin only move to higher offsets, and only if they must; new variables have begin 0.
/// Throws NC_EVARSIZE if the version's limits do not allow the layout; then `header` is unchanged.
Layout compute_layout(Header& header, const LayoutOptions& options, const Layout* previous);

/// The layout of a decoded header, whose begins are kept. Without variables there is no data section: its
/// offsets are 0.
[[nodiscard]] Layout layout_of(const Header& header, std::int64_t header_size_bytes);

/// Bytes from the beginning of the file to the end of its last element.
[[nodiscard]] std::int64_t file_bytes(const Header& header, const Layout& layout);

/// One contiguous run of a hyperslab in the file.
struct FileRun {
  std::int64_t offset_bytes = 0;
  std::int64_t length_bytes = 0;
  bool operator==(const FileRun&) const = default;
};

/// Appends the contiguous runs in row-major order of the selection. Adjacent runs are merged, but never with
/// earlier runs. start, count and stride have one entry per dimension; an empty stride means 1 everywhere.
/// Does not check the variable's bounds.
void append_runs(const Header& header, const Layout& layout, int varid, std::span<const std::int64_t> start,
                 std::span<const std::int64_t> count, std::span<const std::int64_t> stride,
                 std::vector<FileRun>& runs);

}  // namespace sluice::formats
