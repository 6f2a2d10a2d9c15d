#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/formats/header.hpp"

/// The constants of docs/formats/cdf.md.
namespace sluice::formats::cdf {

inline constexpr std::array<std::byte, 3> magic{std::byte{'C'}, std::byte{'D'}, std::byte{'F'}};

/// Tags before the lists of a header. An absent list has the tag 0 and no elements.
inline constexpr std::uint32_t tag_absent = 0;
inline constexpr std::uint32_t tag_dimensions = 10;
inline constexpr std::uint32_t tag_variables = 11;
inline constexpr std::uint32_t tag_attributes = 12;

/// Names and attribute values are padded to a multiple of this.
inline constexpr std::int64_t padding_bytes = 4;

/// PnetCDF's NC_MAX_DIMS, NC_MAX_VARS, NC_MAX_ATTRS and NC_MAX_VAR_DIMS: the largest count that an id (an
/// int) allows.
inline constexpr std::int64_t max_count = 0x7fff'ffff;

/// The largest vsize in CDF-1 and CDF-2; larger sizes are stored as the second constant.
inline constexpr std::int64_t max_vsize = 0xffff'fffc;
inline constexpr std::uint32_t vsize_too_large = 0xffff'ffff;

/// Bytes of counts, lengths and ids.
constexpr int count_bytes(Version version) noexcept {
  return version == Version::cdf5 ? 8 : 4;
}

/// Bytes of a variable's `begin`.
constexpr int offset_bytes(Version version) noexcept {
  return version == Version::cdf1 ? 4 : 8;
}

constexpr std::int64_t padded(std::int64_t bytes) noexcept {
  return (bytes + padding_bytes - 1) / padding_bytes * padding_bytes;
}

}  // namespace sluice::formats::cdf
