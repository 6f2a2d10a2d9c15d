#pragma once
#include "carried_dataset.hpp"

namespace sluice::api::netcdf {

/// Gives a dataset that is opened for reading the shadow of an earlier one that had the same bytes. False:
/// there is none.
[[nodiscard]] bool take_kept_shadow(CarriedDataset& dataset);

/// Keeps the shadow of a dataset that was only read, for a later one. Closes shadows that are too many.
/// Returns a status.
int keep_shadow(CarriedDataset& dataset);

}  // namespace sluice::api::netcdf
