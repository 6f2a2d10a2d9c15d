#pragma once
#include <string>

#include "dataset.hpp"
#include "pnetcdf/entry.hpp"

namespace sluice::api {

/// What sluice_last_error() says of a data access that was refused with `status`: the variable with its
/// shape, the meaning of the status and the numbers that were given.
[[nodiscard]] std::string mistake_text(const Dataset& dataset, const AccessCall& call, int status);

}  // namespace sluice::api
