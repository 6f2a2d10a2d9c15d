#pragma once
#include "driver.hpp"
#include "mpi_handles.hpp"

namespace sluice::api {

/// Collective: copies the header and all data of the file that `from` has open to `to`, which is new and
/// empty. Each rank copies a part, in pieces of bounded memory. Every later put, from any rank, is newer than
/// the import.
void import_file(const Communicator& comm, const OpenedDriver& from, Driver& to);

}  // namespace sluice::api
