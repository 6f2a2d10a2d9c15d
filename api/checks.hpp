#pragma once
#include <string>

#include "dataset.hpp"

/// Checks that many metadata functions share, each with the status and the text that its failure has.
namespace sluice::api {

/// NC_ENOTINDEFINE
void require_define_mode(const Dataset& dataset);
/// NC_EINDEFINE
void require_data_mode(const Dataset& dataset);
/// NC_EPERM
void require_writable(const Dataset& dataset);
/// NC_ENOTVAR, and NC_EGLOBAL for NC_GLOBAL
void require_variable(const Dataset& dataset, int varid);
/// NC_EBADDIM
void require_dimension(const Dataset& dataset, int dimid);
/// NC_EBADNAME for a null or empty name to look for, or one that is not UTF-8; NC_EMAXNAME.
void require_wanted_name(const char* name);
/// The name as it is stored: NC_EBADNAME, NC_EMAXNAME.
[[nodiscard]] std::string checked_name(const char* name);
/// NC_EBADTYPE, and NC_ESTRICTCDF2 for a type that only CDF-5 has.
void require_type(const Dataset& dataset, int type);

/// NC_EINTOVERFLOW when records before `record_end` lie beyond 2^63 - 1 bytes: a call can name such records,
/// and a damaged CDF-5 file can claim to have them. (PnetCDF computes on, and reads or writes somewhere.)
/// NC_NOERR for fixed-size variables.
[[nodiscard]] int check_record_offsets(const Dataset& dataset, int varid, std::int64_t record_end) noexcept;

/// Whether the variable was there before this redefinition.
[[nodiscard]] bool is_old_variable(const Dataset& dataset, int varid);

/// Collective: the driver gets the header, and `layout` is in force. Rank 0's written bytes count it, as in
/// PnetCDF.
void write_header(Dataset& dataset, const formats::Layout& layout);

/// Metadata was changed: in data mode the header is written at once (collective), in define mode enddef does
/// it.
void metadata_changed(Dataset& dataset);

}  // namespace sluice::api
