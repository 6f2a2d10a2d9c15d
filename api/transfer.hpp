#pragma once
#include <cstdint>
#include <span>

#include "dataset.hpp"

namespace sluice::api {

/// Hands this rank's puts to the driver and brings the record count up to date: `record_end` is the record
/// after the last one that they touch (0: none). In collective mode all ranks call it, with an empty list
/// where there is nothing to put or a mistake was made. Counts the bytes. What fails makes no records.
void transfer_put(Dataset& dataset, std::span<Access> accesses, std::int64_t record_end, Mode mode);

/// The same for gets.
void transfer_get(Dataset& dataset, std::span<Access> accesses, Mode mode);

}  // namespace sluice::api
