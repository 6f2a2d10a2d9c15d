#pragma once
#include "mpi_handles.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::api {

/// Collective: throws NC_EMULTIDEFINE on all ranks if they have defined different dimensions or variables.
/// Later agreements identify variables by their ids.
void check_same_definitions(const Communicator& comm, const formats::Header& header);

}  // namespace sluice::api
