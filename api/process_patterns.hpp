#pragma once
#include <map>

#include "mpi_handles.hpp"
#include "pending_puts.hpp"
#include "sluice/formats/blobs.hpp"

namespace sluice::api {

/// What has been put into all variables, by part of a variable and call; ascending.
using PutParts = std::map<PendingPuts::Key, PendingPuts::Part>;

/// Collective: how everything that the processes have put is kept in blobs of processes: maps first, then the
/// variables of which anything was put, in their order. Elements that several have put are the later call's,
/// and of one call the lower rank's. `header` has the number of records that all agree on.
[[nodiscard]] formats::Blobs decide_process_blobs(const Communicator& comm, const formats::Header& header,
                                                  const PutParts& parts, int files);

}  // namespace sluice::api
