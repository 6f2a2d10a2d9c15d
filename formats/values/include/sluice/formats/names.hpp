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

/// Whether a look-up of `name` is possible: NC_NOERR, NC_EBADNAME (empty, not UTF-8) or NC_EMAXNAME. Files
/// may contain names that cannot be looked up, or that check_name refuses.
[[nodiscard]] int check_wanted_name(std::string_view name) noexcept;

/// The name that a file's bytes represent: the bytes up to the first zero, as in other libraries.
[[nodiscard]] std::string_view name_in_file(std::string_view bytes) noexcept;

/// The name in Unicode normal form C, as it is stored and compared. A name that is not UTF-8 is returned
/// unchanged.
[[nodiscard]] std::string normalised_name(std::string_view name);

/// The same without a copy in the common case: `name` itself if it is ASCII, otherwise a view of `storage`.
[[nodiscard]] std::string_view normalised_name(std::string_view name, std::string& storage);

}  // namespace sluice::formats
