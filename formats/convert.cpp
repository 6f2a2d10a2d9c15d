#include "sluice/formats/convert.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "default_fill.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::formats {

namespace {

/// Whether every value of From is one of To, so that no range check is needed. Integers count as fitting into
/// floating point types.
template <class To, class From>
constexpr bool check_always_fits() noexcept {
  if constexpr (std::is_floating_point_v<To>) {
    return !(std::is_same_v<To, float> && std::is_same_v<From, double>);
  } else if constexpr (std::is_integral_v<From>) {
    return std::in_range<To>(std::numeric_limits<From>::min()) &&
           std::in_range<To>(std::numeric_limits<From>::max());
  } else {
    return false;
  }
}

template <class To, class From>
inline constexpr bool always_fits = check_always_fits<To, From>();

/// Whether `x` is in the range of To. A NaN is in the range of floating point types only.
template <class To, class From>
constexpr bool fits(From x) noexcept {
  using Limits = std::numeric_limits<To>;
  if constexpr (always_fits<To, From>) {
    return true;
  } else if constexpr (std::is_floating_point_v<To>) {
    return !(x > Limits::max()) && !(x < Limits::lowest());
  } else if constexpr (std::is_floating_point_v<From>) {
    // The maximum may not be a value of From (2^63 - 1, for example), the power of two behind it always is.
    constexpr auto end = static_cast<From>(Limits::max() / 2 + 1) * 2;
    constexpr bool is_exact = static_cast<From>(Limits::max()) != end;
    const bool below_end = is_exact ? x <= static_cast<From>(Limits::max()) : x < end;
    return below_end & (x >= static_cast<From>(Limits::min()));
  } else {
    return std::in_range<To>(x);
  }
}

template <class To, class From>
int convert_checked(std::byte* destination, const std::byte* source, std::int64_t n, To fill) noexcept {
  bool all_fit = true;
  for (std::int64_t i = 0; i < n; ++i) {
    From from;
    std::memcpy(&from, source + i * static_cast<std::int64_t>(sizeof from), sizeof from);
    const bool is_fit = fits<To, From>(from);
    all_fit &= is_fit;
    // The cast of a value out of range is undefined: cast 0 instead, and select without a branch.
    const To converted = static_cast<To>(is_fit ? from : From{});
    const To to = is_fit ? converted : fill;
    std::memcpy(destination + i * static_cast<std::int64_t>(sizeof to), &to, sizeof to);
  }
  return all_fit ? NC_NOERR : NC_ERANGE;
}

template <class To, class From>
int convert_unchecked(std::byte* destination, const std::byte* source, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    From from;
    std::memcpy(&from, source + i * static_cast<std::int64_t>(sizeof from), sizeof from);
    const auto to = static_cast<To>(from);
    std::memcpy(destination + i * static_cast<std::int64_t>(sizeof to), &to, sizeof to);
  }
  return NC_NOERR;
}

using Converter = int (*)(std::byte*, const std::byte*, std::int64_t, const void* fill);

template <Type to, Type from>
int convert_pair(std::byte* destination, const std::byte* source, std::int64_t n, const void* fill) noexcept {
  using To = element_of<to>;
  using From = element_of<from>;
  if constexpr (always_fits<To, From>) {
    return convert_unchecked<To, From>(destination, source, n);
  } else {
    To fill_value;
    std::memcpy(&fill_value, fill, sizeof fill_value);
    return convert_checked<To, From>(destination, source, n, fill_value);
  }
}

constexpr std::size_t index_of(Type type) noexcept {
  return static_cast<std::size_t>(type);
}

template <std::size_t to, std::size_t from>
constexpr Converter converter() noexcept {
  constexpr auto to_type = static_cast<Type>(to);
  constexpr auto from_type = static_cast<Type>(from);
  if constexpr (to == from || to == 0 || from == 0 || to_type == Type::text || from_type == Type::text) {
    return nullptr;  // a copy of bytes, or no conversion at all
  } else {
    return &convert_pair<to_type, from_type>;
  }
}

template <std::size_t to, std::size_t... from>
constexpr std::array<Converter, type_count> converters_to(std::index_sequence<from...>) noexcept {
  return {converter<to, from>()...};
}

template <std::size_t... to>
constexpr std::array<std::array<Converter, type_count>, type_count> all_converters(
    std::index_sequence<to...> types) noexcept {
  return {converters_to<to>(types)...};
}

constexpr auto converters = all_converters(std::make_index_sequence<type_count>{});

int convert(Type to, void* destination, Type from, const void* source, std::int64_t n, const void* fill,
            bool byte_is_unsigned) noexcept {
  if (n <= 0) return NC_NOERR;
  if (is_plain_copy(to, from, byte_is_unsigned)) {
    std::memcpy(destination, source, size_of(to) * static_cast<std::size_t>(n));
    return NC_NOERR;
  }
  const auto converter = converters[index_of(to)][index_of(from)];
  return converter(static_cast<std::byte*>(destination), static_cast<const std::byte*>(source), n, fill);
}

}  // namespace

bool is_plain_copy(Type a, Type b, bool byte_is_unsigned) noexcept {
  const bool are_bytes = (a == Type::int8 && b == Type::uint8) || (a == Type::uint8 && b == Type::int8);
  return a == b || (byte_is_unsigned && are_bytes);
}

int convert_put(Type to, void* destination, MemoryType from, const void* source, std::int64_t n,
                const void* fill, bool byte_is_unsigned) noexcept {
  return convert(to, destination, from, source, n, fill, byte_is_unsigned);
}

int convert_get(MemoryType to, void* destination, Type from, const void* source, std::int64_t n,
                bool byte_is_unsigned) noexcept {
  std::array<std::byte, 8> fill{};
  default_fill(to, fill.data());
  return convert(to, destination, from, source, n, fill.data(), byte_is_unsigned);
}

}  // namespace sluice::formats
