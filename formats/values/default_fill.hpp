#pragma once
#include <cstdint>

#include "sluice/formats/types.hpp"

namespace sluice::formats {

/// The C++ type of one element of external type `type`.
template <Type type>
struct ElementOf;
template <>
struct ElementOf<Type::int8> {
  using type = std::int8_t;
};
template <>
struct ElementOf<Type::text> {
  using type = char;
};
template <>
struct ElementOf<Type::int16> {
  using type = std::int16_t;
};
template <>
struct ElementOf<Type::int32> {
  using type = std::int32_t;
};
template <>
struct ElementOf<Type::float32> {
  using type = float;
};
template <>
struct ElementOf<Type::float64> {
  using type = double;
};
template <>
struct ElementOf<Type::uint8> {
  using type = std::uint8_t;
};
template <>
struct ElementOf<Type::uint16> {
  using type = std::uint16_t;
};
template <>
struct ElementOf<Type::uint32> {
  using type = std::uint32_t;
};
template <>
struct ElementOf<Type::int64> {
  using type = std::int64_t;
};
template <>
struct ElementOf<Type::uint64> {
  using type = std::uint64_t;
};

template <Type type>
using element_of = typename ElementOf<type>::type;

/// The default fill values (NC_FILL_*) of netCDF.
template <Type type>
inline constexpr element_of<type> default_fill_of{};
template <>
inline constexpr std::int8_t default_fill_of<Type::int8> = -127;
template <>
inline constexpr char default_fill_of<Type::text> = 0;
template <>
inline constexpr std::int16_t default_fill_of<Type::int16> = -32767;
template <>
inline constexpr std::int32_t default_fill_of<Type::int32> = -2147483647;
template <>
inline constexpr float default_fill_of<Type::float32> = 9.9692099683868690e+36F;
template <>
inline constexpr double default_fill_of<Type::float64> = 9.9692099683868690e+36;
template <>
inline constexpr std::uint8_t default_fill_of<Type::uint8> = 255;
template <>
inline constexpr std::uint16_t default_fill_of<Type::uint16> = 65535;
template <>
inline constexpr std::uint32_t default_fill_of<Type::uint32> = 4294967295U;
template <>
inline constexpr std::int64_t default_fill_of<Type::int64> = -9223372036854775806;
template <>
inline constexpr std::uint64_t default_fill_of<Type::uint64> = 18446744073709551614U;

}  // namespace sluice::formats
