#pragma once
#include "dataset.hpp"
#include "pnetcdf/entry.hpp"
#include "prepared_access.hpp"

namespace sluice::api {

/// A put or get, blocking: checks, transfers, and in collective mode takes part even when an argument is bad.
/// Returns the status; throws what the driver throws.
int perform(Dataset& dataset, const AccessCall& call);

/// The transfer of a blocking put or get that has been prepared. With a `status` other than NC_NOERR, in
/// collective mode, this process takes part with nothing. Returns the status.
int perform_prepared(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared, int status);

}  // namespace sluice::api
