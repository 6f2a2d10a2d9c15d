#pragma once
#include <map>

#include "mpi_handles.hpp"
#include "pending_puts.hpp"
#include "sluice/formats/blobs.hpp"

namespace sluice::api {

/// All pending data, by variable, record and call; ascending.
using PutParts = std::map<PendingPuts::Key, PendingPuts::Part>;

/// Collective: decides how to store all pending data in process-centric blobs. Maps come first, then the
/// variables with data, in their order. If several processes have put an element, the later call wins, then
/// the lower rank. `header` has the number of records that all ranks agreed on.
[[nodiscard]] formats::Blobs decide_process_blobs(const Communicator& comm, const formats::Header& header,
                                                  const PutParts& parts, int files);

}  // namespace sluice::api
