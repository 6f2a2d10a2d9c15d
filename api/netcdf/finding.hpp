#pragma once
#include "netcdf_calls.h"

namespace sluice::api::netcdf {

/// The calls by which programs find datasets: which are coupled by hyperslabs, and how they are handed to the
/// program's netCDF. Returns a status, or sluice_netcdf_is_ordinary.
[[nodiscard]] int find_dataset_of_program(const sluice_netcdf_call& call) noexcept;

}  // namespace sluice::api::netcdf
