#pragma once
#include <string>

#include "dataset.hpp"
#include "pnetcdf/entry.hpp"

namespace sluice::api {

/// The text of sluice_last_error() for a data access that failed with `status`: the variable with its shape,
/// the meaning of the status, and the given numbers.
[[nodiscard]] std::string access_error_text(const Dataset& dataset, const AccessCall& call, int status);

}  // namespace sluice::api
