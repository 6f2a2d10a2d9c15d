#include "sluice/formats/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "default_fill.hpp"
#include "sluice/formats/copy_bytes.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::formats {

namespace {

/// Whether every value of From is a value of To, so that no range check is needed. Integers count as fitting
/// into floating point types.
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

/// The type whose limits apply to To. In a checked conversion from float to double, infinity is out of range,
/// as in the conversion from double to float.
template <class To>
using RangeOf = std::conditional_t<std::is_floating_point_v<To>, float, To>;

/// Whether `x` is in the range of To by netCDF's rules. A NaN always is. So is the power of two after the
/// largest 64-bit integer, because a comparison in floating point cannot distinguish the two.
template <class To, class From>
constexpr bool fits(From x) noexcept {
  using Limits = std::numeric_limits<RangeOf<To>>;
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    return std::in_range<To>(x);
  } else {
    // 32-bit limits are compared exactly, in double.
    using Wide = std::conditional_t<std::is_same_v<To, std::int32_t> || std::is_same_v<To, std::uint32_t>,
                                    double, From>;
    const auto wide = static_cast<Wide>(x);
    const int is_above = wide > static_cast<Wide>(Limits::max());
    const int is_below = wide < static_cast<Wide>(Limits::lowest());
    return (is_above | is_below) == 0;  // without a branch, so that the loop becomes one of vectors
  }
}

/// The integer for a NaN, which netCDF leaves undefined. It is x86's result, so that results equal those of
/// other libraries.
template <class To>
constexpr To integer_of_nan() noexcept {
  if constexpr (std::is_same_v<To, std::int32_t> || std::is_same_v<To, std::int64_t>)
    return std::numeric_limits<To>::min();
  if constexpr (std::is_same_v<To, std::uint64_t>) return To{1} << 63;
  return 0;
}

/// Casts without undefined behaviour for values that `fits` accepts; returns any value for others.
template <class To, class From>
constexpr To cast(From x, bool is_fit) noexcept {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The bounds as a power of two and (for signed types) its negative: unlike the maximum, both are values
    // of From.
    constexpr auto end = From{2} * static_cast<From>(To{1} << (std::numeric_limits<To>::digits - 1));
    const bool is_castable = is_fit & (x < end);
    const To converted = static_cast<To>(is_castable ? x : From{});
    if constexpr (sizeof(To) == 8) {
      return x != x ? integer_of_nan<To>() : (x >= end ? std::numeric_limits<To>::max() : converted);
    } else {
      return x != x ? integer_of_nan<To>() : converted;
    }
  } else {
    return static_cast<To>(x);
  }
}

/// What x86's instructions make of a value out of range, which C leaves undefined for floating point.
template <class To, class From>
constexpr To wrapped(From x) noexcept {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide =
        std::conditional_t<(sizeof(To) < 4) || std::is_same_v<To, std::int32_t>, std::int32_t, std::int64_t>;
    constexpr From end = From{2} * static_cast<From>(Wide{1} << (std::numeric_limits<Wide>::digits - 1));
    if (std::is_same_v<To, std::uint64_t> && x >= end) return x < 2 * end ? static_cast<To>(x) : To{0};
    return static_cast<To>(x >= -end && x < end ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
T load(const std::byte* source, std::int64_t i) noexcept {
  T value;
  std::memcpy(&value, source + i * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

template <class T>
void store(std::byte* destination, std::int64_t i, T value) noexcept {
  std::memcpy(destination + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
}

template <class To, class From>
int convert_unchecked(std::byte* destination, const std::byte* source, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) store(destination, i, static_cast<To>(load<From>(source, i)));
  return NC_NOERR;
}

template <class To, class From>
int convert_checked(std::byte* destination, const std::byte* source, std::int64_t n,
                    const To* fill) noexcept {
  bool all_fit = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto from = load<From>(source, i);
    const bool is_fit = fits<To, From>(from);
    all_fit &= is_fit;
    const To converted = cast<To, From>(from, is_fit);
    store(destination, i, is_fit ? converted : fill != nullptr ? *fill : wrapped<To, From>(from));
  }
  return all_fit ? NC_NOERR : NC_ERANGE;
}

/// The values of From that can be cast to To directly, with a margin. Excludes NaN, values out of range, and
/// values near the limits.
template <class To, class From>
struct Castable {
  using Limits = std::numeric_limits<RangeOf<To>>;
  static constexpr From least = static_cast<From>(Limits::lowest());
  // The maximum of an integer type may not be a value of From. It then rounds up to a value that is too
  // large.
  static constexpr bool is_exact = Limits::digits <= std::numeric_limits<From>::digits;
  static constexpr From largest = static_cast<From>(is_exact ? Limits::max() : Limits::max() / 4 * 3);
};

template <class To, class From>
bool all_castable(const std::byte* source, std::int64_t n) noexcept {
  using Range = Castable<To, From>;
  // The compiler does not vectorise this loop over doubles by itself. Masks are combined as vectors of bits,
  // because the compiler splits vectors of truth values.
  using Vector [[gnu::vector_size(16)]] = From;
  using Bits [[gnu::vector_size(16)]] = std::uint32_t;
  constexpr std::int64_t lanes = 16 / sizeof(From);
  Bits all = ~Bits{};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = load<Vector>(source + i * static_cast<std::int64_t>(sizeof(From)), 0);
    all &= std::bit_cast<Bits>(x >= Range::least) & std::bit_cast<Bits>(x <= Range::largest);
  }
  bool is_all = (all[0] & all[1] & all[2] & all[3]) != 0;
  for (; i < n; ++i) {
    const auto x = load<From>(source, i);
    is_all &= (x >= Range::least) & (x <= Range::largest);
  }
  return is_all;
}

/// From a floating point type: in blocks, because the test and the cast alone are vector instructions, but
/// the careful loop is not.
template <class To, class From>
int convert_floating(std::byte* destination, const std::byte* source, std::int64_t n,
                     const To* fill) noexcept {
  constexpr std::int64_t block = 512;
  int status = NC_NOERR;
  for (std::int64_t i = 0; i < n; i += block) {
    const auto m = std::min(block, n - i);
    auto* to = destination + i * static_cast<std::int64_t>(sizeof(To));
    const auto* from = source + i * static_cast<std::int64_t>(sizeof(From));
    const int block_status = all_castable<To, From>(from, m) ? convert_unchecked<To, From>(to, from, m)
                                                             : convert_checked<To, From>(to, from, m, fill);
    if (block_status != NC_NOERR) status = block_status;
  }
  return status;
}

using Converter = int (*)(std::byte*, const std::byte*, std::int64_t, const void* fill);

template <Type to, Type from>
int convert_pair(std::byte* destination, const std::byte* source, std::int64_t n, const void* fill) noexcept {
  using To = element_of<to>;
  using From = element_of<from>;
  if constexpr (always_fits<To, From>) {
    return convert_unchecked<To, From>(destination, source, n);
  } else {
    To value{};
    if (fill != nullptr) std::memcpy(&value, fill, sizeof value);
    const To* const fill_value = fill == nullptr ? nullptr : &value;
    if constexpr (std::is_floating_point_v<From>) {
      return convert_floating<To, From>(destination, source, n, fill_value);
    } else {
      return convert_checked<To, From>(destination, source, n, fill_value);
    }
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
    return nullptr;  // a copy of bytes, or not a conversion
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
    copy_bytes(destination, source, size_of(to) * static_cast<std::size_t>(n));
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
  if (to == Type::float64 && from == Type::float32) {
    double fill_value = 0;
    std::memcpy(&fill_value, fill, sizeof fill_value);
    return convert_floating<double, float>(static_cast<std::byte*>(destination),
                                           static_cast<const std::byte*>(source), n, &fill_value);
  }
  return convert(to, destination, from, source, n, fill, byte_is_unsigned);
}

int convert_get(MemoryType to, void* destination, Type from, const void* source, std::int64_t n,
                bool byte_is_unsigned) noexcept {
  std::array<std::byte, 8> fill{};
  default_fill(to, fill.data());
  return convert(to, destination, from, source, n, fill.data(), byte_is_unsigned);
}

int convert_casting(Type to, void* destination, Type from, const void* source, std::int64_t n) noexcept {
  return convert(to, destination, from, source, n, nullptr, false);
}

}  // namespace sluice::formats
