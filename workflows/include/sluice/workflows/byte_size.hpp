#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::workflows {

/// The allowed forms of a size, for messages.
inline constexpr std::string_view byte_size_forms =
    "a number of bytes with or without a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), for example 2GiB";

/// Parses "2GiB", "512 MiB", "1.5 GB", "1e9" or "4096" into bytes. Returns nothing if the text has another
/// form, is negative, or exceeds 2^63.
[[nodiscard]] std::optional<std::uint64_t> parse_byte_size(std::string_view text);
/// "8GiB" for "8G", "8 gib" or "8 gigabytes"; empty: nothing is near.
[[nodiscard]] std::string near_byte_size(std::string_view text);

}  // namespace sluice::workflows
