#pragma once
#include <cstdint>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::formats {

/// `bytes` rounded up to a multiple of `alignment`. Throws Error(NC_EVARSIZE) when that is beyond 63 bits.
[[nodiscard]] std::int64_t rounded_up(std::int64_t bytes, std::int64_t alignment);

/// Sum of two offsets or sizes. Throws Error(NC_EVARSIZE) when that is beyond 63 bits.
[[nodiscard]] std::int64_t checked_sum(std::int64_t a, std::int64_t b);

/// Throws Error(NC_EVARSIZE) when the sizes of the variables break the rules of the header's version: a
/// variable may be too large for its size field only when no other variable follows it. docs/formats/cdf.md,
/// "Limits".
void check_variable_sizes(const Header& header);

/// The largest `begin` of the version.
[[nodiscard]] std::int64_t max_begin(Version version) noexcept;

/// Bytes of one record of all record variables: each padded to 4, unless there is only one.
[[nodiscard]] std::int64_t record_bytes(const Header& header);

}  // namespace sluice::formats
