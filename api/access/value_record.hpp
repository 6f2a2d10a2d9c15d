#pragma once
#include <span>

#include "dataset.hpp"

namespace sluice::api {

/// For `sluice verify`: appends a line for each access to the record of this process, with a fingerprint of
/// its elements. Does nothing without SLUICE_RECORD_VALUES. Format: docs/design/verifying-a-run.md. Never
/// throws; what cannot be written is missing in the record, and the comparison says so.
void record_gets(const Dataset& dataset, std::span<const Access> accesses) noexcept;
/// Same as record_gets, for puts.
void record_puts(const Dataset& dataset, std::span<const Access> accesses) noexcept;

}  // namespace sluice::api
