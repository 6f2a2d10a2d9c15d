#pragma once
#include <cstdint>
#include <span>

#include "dataset.hpp"

namespace sluice::api {

/// Passes this rank's puts to the driver and updates the record count. `record_end` is the record after the
/// last one that the puts touch (0: none). In collective mode all ranks call it; a rank without data or with
/// an error passes an empty list. Counts the bytes. Failed puts create no records.
void transfer_put(Dataset& dataset, std::span<Access> accesses, std::int64_t record_end, Mode mode);

/// Same as transfer_put, for gets.
void transfer_get(Dataset& dataset, std::span<Access> accesses, Mode mode);

}  // namespace sluice::api
