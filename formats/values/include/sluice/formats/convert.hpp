#pragma once
#include <cstddef>
#include <cstdint>

#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// The types of a user's buffer: the external types. C's `long` is int64 (LP64), ncmpi's "schar" is int8,
/// "uchar" uint8.
using MemoryType = Type;

/// Whether one type is text and the other is a number (NC_ECHAR).
[[nodiscard]] constexpr bool mixes_text(Type a, Type b) noexcept {
  return (a == Type::text) != (b == Type::text);
}

/// Converts `n` elements from user memory to external representation in native byte order ("put"). A value
/// out of range becomes `fill` and makes the result NC_ERANGE; all other values are still converted. `fill`:
/// one element of `to`, for example Header::fill_value; PnetCDF's ERANGE_FILL. With `byte_is_unsigned`, uint8
/// memory ↔ int8 external in CDF-1/2 is a byte copy without range check. Buffers do not overlap; they need no
/// alignment. Returns NC_NOERR or NC_ERANGE, but never NC_ECHAR: check mixes_text first.
///
/// The definition of "out of range" is PnetCDF 1.12.3's: numbers beyond the limits of the type (127.5 is no
/// int8), infinity for float64 → float32, and infinity for puts of float32 into float64. A NaN is in range.
/// It stays a NaN in floating point types. In integers it becomes x86's result: 0 in 8 and 16 bits and
/// uint32, the least number in int32 and int64, 2^63 in uint64. Exactly 2^63 becomes the largest int64, 2^64
/// the largest uint64.
int convert_put(Type to, void* destination, MemoryType from, const void* source, std::int64_t n,
                const void* fill, bool byte_is_unsigned) noexcept;

/// Converts from external representation in native byte order to user memory ("get"). A value out of range
/// becomes the default fill value of the memory type.
int convert_get(MemoryType to, void* destination, Type from, const void* source, std::int64_t n,
                bool byte_is_unsigned) noexcept;

/// Converts in either direction. A value out of range becomes what a cast in C makes of it on x86, as netCDF
/// leaves it.
int convert_casting(Type to, void* destination, Type from, const void* source, std::int64_t n) noexcept;

/// Whether conversion is a plain copy of bytes.
[[nodiscard]] bool is_plain_copy(Type a, Type b, bool byte_is_unsigned) noexcept;

/// Reverses the bytes of each of `n` elements of 1, 2, 4 or 8 bytes during the copy (source may equal
/// destination).
void copy_swapped(void* destination, const void* source, std::size_t element_bytes, std::int64_t n) noexcept;

/// Copies between this machine's byte order and `order`, in either direction (source may equal destination).
void copy_ordered(void* destination, const void* source, std::size_t element_bytes, std::int64_t n,
                  ByteOrder order) noexcept;

}  // namespace sluice::formats
