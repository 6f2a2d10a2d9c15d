#pragma once
#include <string>

#include "dataset.hpp"

/// Checks that many metadata functions share. Each check has its own status and error text.
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
/// NC_EBADNAME for a name to look up that is null, empty or not UTF-8; NC_EMAXNAME.
void require_wanted_name(const char* name);
/// The name as it is stored: NC_EBADNAME, NC_EMAXNAME.
[[nodiscard]] std::string checked_name(const char* name);
/// NC_EBADTYPE, and NC_ESTRICTCDF2 for a type that only CDF-5 has.
void require_type(const Dataset& dataset, int type);

/// NC_EINTOVERFLOW if records before `record_end` lie beyond 2^63 - 1 bytes. A call can name these records,
/// and a damaged CDF-5 file can claim them. (PnetCDF does not check this, and reads or writes at a wrong
/// offset.) NC_NOERR for fixed-size variables.
[[nodiscard]] int check_record_offsets(const Dataset& dataset, int varid, std::int64_t record_end) noexcept;

/// Whether the variable existed before this redefinition.
[[nodiscard]] bool is_old_variable(const Dataset& dataset, int varid);

/// Collective: the driver writes the header, and `layout` takes effect. As in PnetCDF, rank 0 counts the
/// header in its written bytes.
void write_header(Dataset& dataset, const formats::Layout& layout);

/// Called after metadata has changed. In data mode it writes the header at once (collective); in define mode
/// enddef writes it.
void metadata_changed(Dataset& dataset);

}  // namespace sluice::api
