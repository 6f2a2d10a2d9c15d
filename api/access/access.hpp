#pragma once
#include "dataset.hpp"
#include "pnetcdf/entry.hpp"
#include "prepared_access.hpp"

namespace sluice::api {

/// A blocking put or get: checks and transfers. In collective mode this rank takes part even if an argument
/// is bad. Returns the status; throws the driver's exceptions.
int perform(Dataset& dataset, const AccessCall& call);

/// The transfer of a prepared blocking put or get. With a `status` other than NC_NOERR, in collective mode,
/// this process takes part with an empty request. Returns the status.
int perform_prepared(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared, int status);

}  // namespace sluice::api
