#pragma once
#include "driver.hpp"
#include "mpi_handles.hpp"

namespace sluice::api {

/// Collective: the header and all data of the file that `from` has open go to `to`, which is new and empty.
/// Each rank takes a part, in pieces of bounded memory. Whatever is put afterwards, by whatever rank, is
/// later.
void import_file(const Communicator& comm, const OpenedDriver& from, Driver& to);

}  // namespace sluice::api
