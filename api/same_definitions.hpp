#pragma once
#include "mpi_handles.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::api {

/// Collective: throws NC_EMULTIDEFINE on all ranks where they have defined other dimensions or variables than
/// one another. What is agreed on later goes by their ids.
void check_same_definitions(const Communicator& comm, const formats::Header& header);

}  // namespace sluice::api
