#pragma once
#include <cstddef>
#include <cstdint>

#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// Types a user's buffer can have. They are the external types; C's `long` is int64 (LP64), ncmpi's "schar"
/// is int8, "uchar" uint8.
using MemoryType = Type;

/// Whether text and numbers are mixed (NC_ECHAR).
[[nodiscard]] constexpr bool mixes_text(Type a, Type b) noexcept {
  return (a == Type::text) != (b == Type::text);
}

/// Converts `n` elements from user memory to external representation in native byte order ("put"). A value
/// out of range becomes `fill` (one element of `to`; as PnetCDF's ERANGE_FILL) and makes the result
/// NC_ERANGE; all others are still converted. Range rules are netCDF's: uint8 memory ↔ int8 external in
/// CDF-1/2 is a byte copy without range check (`byte_is_unsigned`). Buffers do not overlap; no alignment is
/// assumed. Returns NC_NOERR or NC_ERANGE. Never NC_ECHAR: check first.
int convert_put(Type to, void* destination, MemoryType from, const void* source, std::int64_t n,
                const void* fill, bool byte_is_unsigned) noexcept;

/// The same from external representation in native byte order to user memory ("get"). A value out of range
/// becomes `fill`'s counterpart: the default fill value of the memory type.
int convert_get(MemoryType to, void* destination, Type from, const void* source, std::int64_t n,
                bool byte_is_unsigned) noexcept;

/// Whether conversion is a plain copy of bytes.
[[nodiscard]] bool is_plain_copy(Type a, Type b, bool byte_is_unsigned) noexcept;

/// Reverses the bytes of each of `n` elements of 1, 2, 4 or 8 bytes while copying (source may equal
/// destination).
void copy_swapped(void* destination, const void* source, std::size_t element_bytes, std::int64_t n) noexcept;

}  // namespace sluice::formats
