#pragma once
#include <string>
#include <string_view>

namespace sluice::formats {

/// NC_MAX_NAME: bytes of the longest name.
inline constexpr std::size_t max_name_bytes = 256;

/// Whether `name` may name a dimension, variable or attribute: NC_NOERR, NC_EBADNAME (empty, not UTF-8, '/',
/// control characters, an illegal first character, a trailing space) or NC_EMAXNAME. docs/formats/cdf.md,
/// "Names".
[[nodiscard]] int check_name(std::string_view name) noexcept;

/// Whether a file that holds this name is accepted: old libraries wrote names that check_name refuses today
/// (spaces, punctuation first), but none that is empty, not UTF-8, or contains '/' or control characters.
[[nodiscard]] bool is_readable_name(std::string_view name) noexcept;

/// The name in Unicode normal form C, as it is stored and compared. What is not UTF-8 comes back as it is.
[[nodiscard]] std::string normalised_name(std::string_view name);

/// The same without a copy for the plain case: `name` itself when it is ASCII, else a view of `storage`.
[[nodiscard]] std::string_view normalised_name(std::string_view name, std::string& storage);

}  // namespace sluice::formats
