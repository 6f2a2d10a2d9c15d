#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::workflows {

/// What a size may look like, for messages.
inline constexpr std::string_view byte_size_forms =
    "a number of bytes with or without a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), for example 2GiB";

/// "2GiB", "512 MiB", "1.5 GB", "1e9", "4096": bytes. Nothing when the text is none of these, is negative, or
/// exceeds 2^63.
[[nodiscard]] std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace sluice::workflows
