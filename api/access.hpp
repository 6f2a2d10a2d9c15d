#pragma once
#include "dataset.hpp"
#include "pnetcdf/entry.hpp"

namespace sluice::api {

/// A put or get, blocking: checks, transfers, and in collective mode takes part even when an argument is bad.
/// Returns the status; throws what the driver throws.
int perform(Dataset& dataset, const AccessCall& call);

}  // namespace sluice::api
