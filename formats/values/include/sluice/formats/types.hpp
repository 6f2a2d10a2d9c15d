#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::formats {

/// External types; the values are those of nc_type (NC_BYTE … NC_UINT64).
enum class Type : int {
  nat = 0,
  int8 = 1,
  text = 2,
  int16 = 3,
  int32 = 4,
  float32 = 5,
  float64 = 6,
  uint8 = 7,
  uint16 = 8,
  uint32 = 9,
  int64 = 10,
  uint64 = 11,
};

inline constexpr int type_count = 12;  // including nat

/// Bytes of one element, both in the file and in memory; 0 for `nat` and for invalid values.
[[nodiscard]] constexpr std::size_t size_of(Type type) noexcept {
  constexpr std::array<std::size_t, type_count> sizes{0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  const auto i = static_cast<std::size_t>(type);
  return i < sizes.size() ? sizes[i] : 0;
}

[[nodiscard]] constexpr bool is_valid(Type type) noexcept {
  return size_of(type) != 0;
}

/// Whether only CDF-5 has the type (uint8 … uint64).
[[nodiscard]] constexpr bool needs_cdf5(Type type) noexcept {
  return static_cast<int>(type) >= static_cast<int>(Type::uint8);
}

/// The byte order of numbers in a file: big-endian in all CDF files.
enum class ByteOrder : std::uint8_t { big, little };

/// The byte order of this machine.
inline constexpr ByteOrder native_byte_order =
    std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;

/// "int", "double", … as ncdump writes it.
const char* type_name(Type type) noexcept;

/// Writes one default fill value (NC_FILL_*) of `type` in native byte order to `destination` (size_of(type)
/// bytes).
void default_fill(Type type, void* destination) noexcept;

}  // namespace sluice::formats
