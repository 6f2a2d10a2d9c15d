#include "sluice/formats/convert.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "sluice/formats/status.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

/// One value of any type; long double holds all of them exactly.
long double read(Type type, const std::byte* at) {
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<long double>(value);
  };
  switch (type) {
    case Type::int8:
      return as(std::int8_t{});
    case Type::int16:
      return as(std::int16_t{});
    case Type::int32:
      return as(std::int32_t{});
    case Type::float32:
      return as(float{});
    case Type::float64:
      return as(double{});
    case Type::uint8:
      return as(std::uint8_t{});
    case Type::uint16:
      return as(std::uint16_t{});
    case Type::uint32:
      return as(std::uint32_t{});
    case Type::int64:
      return as(std::int64_t{});
    case Type::uint64:
      return as(std::uint64_t{});
    default:
      return 0;
  }
}

struct Limits {
  long double least, largest;
};

Limits limits_of(Type type) {
  const auto of = [](auto value) {
    using L = std::numeric_limits<decltype(value)>;
    return Limits{static_cast<long double>(L::lowest()), static_cast<long double>(L::max())};
  };
  switch (type) {
    case Type::int8:
      return of(std::int8_t{});
    case Type::int16:
      return of(std::int16_t{});
    case Type::int32:
      return of(std::int32_t{});
    case Type::float32:
      return of(float{});
    case Type::float64:
      return of(double{});
    case Type::uint8:
      return of(std::uint8_t{});
    case Type::uint16:
      return of(std::uint16_t{});
    case Type::uint32:
      return of(std::uint32_t{});
    case Type::int64:
      return of(std::int64_t{});
    case Type::uint64:
      return of(std::uint64_t{});
    default:
      return {};
  }
}

bool is_floating(Type type) {
  return type == Type::float32 || type == Type::float64;
}

/// Random values of all magnitudes. Never NaN, and never close to 2^63 or 2^64: those have their own cases.
std::vector<std::byte> random_values(Type type, std::int64_t n, long double reach, std::mt19937_64& random) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * size_of(type));
  std::uniform_real_distribution<double> exponent(0, std::log2(static_cast<double>(reach))), sign(-1, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto range = limits_of(type);
    const auto drawn = static_cast<long double>(std::copysign(std::exp2(exponent(random)), sign(random)));
    const auto value = std::clamp(is_floating(type) ? drawn : std::trunc(drawn), range.least, range.largest);
    auto* at = bytes.data() + static_cast<std::size_t>(i) * size_of(type);
    const auto write = [at, value](auto converted) {
      converted = static_cast<decltype(converted)>(value);
      std::memcpy(at, &converted, sizeof converted);
    };
    switch (type) {
      case Type::int8:
        write(std::int8_t{});
        break;
      case Type::int16:
        write(std::int16_t{});
        break;
      case Type::int32:
        write(std::int32_t{});
        break;
      case Type::float32:
        write(float{});
        break;
      case Type::float64:
        write(double{});
        break;
      case Type::uint8:
        write(std::uint8_t{});
        break;
      case Type::uint16:
        write(std::uint16_t{});
        break;
      case Type::uint32:
        write(std::uint32_t{});
        break;
      case Type::int64:
        write(std::int64_t{});
        break;
      case Type::uint64:
        write(std::uint64_t{});
        break;
      default:
        break;
    }
  }
  return bytes;
}

/// The plain rule: a comparison decides whether a value is out of range. Otherwise a cast converts it,
/// towards zero for integers and to nearest for floating point.
void check_against_rule(Type to, Type from, const std::vector<std::byte>& source, std::int64_t n) {
  std::vector<std::byte> fill(8), result(static_cast<std::size_t>(n) * size_of(to) + 1);
  default_fill(to, fill.data());
  auto* destination = result.data() + 1;  // deliberately misaligned
  const int status = convert_put(to, destination, from, source.data(), n, fill.data(), false);
  const auto range = limits_of(to);
  bool all_in_range = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = read(from, source.data() + static_cast<std::size_t>(i) * size_of(from));
    const auto got = read(to, destination + static_cast<std::size_t>(i) * size_of(to));
    const bool in_range = value >= range.least && value <= range.largest;
    all_in_range = all_in_range && in_range;
    auto expected = in_range ? std::trunc(value) : read(to, fill.data());
    if (in_range && to == Type::float64) expected = static_cast<double>(value);
    if (in_range && to == Type::float32) expected = static_cast<float>(value);
    if (got != expected) {
      CAPTURE(i);
      CAPTURE(static_cast<double>(value));
      CHECK(static_cast<double>(got) == static_cast<double>(expected));
      return;
    }
  }
  CHECK(status == (all_in_range ? NC_NOERR : NC_ERANGE));
}

template <class To, class From>
To put_one(Type to, Type from, From value, int expected_status, bool byte_is_unsigned = false) {
  To result{}, fill{};
  default_fill(to, &fill);
  CHECK(convert_put(to, &result, from, &value, 1, &fill, byte_is_unsigned) == expected_status);
  return result;
}

template <class To, class From>
To get_one(Type to, Type from, From value, int expected_status, bool byte_is_unsigned = false) {
  To result{};
  CHECK(convert_get(to, &result, from, &value, 1, byte_is_unsigned) == expected_status);
  return result;
}

}  // namespace

TEST_CASE("every pair of number types converts by the plain rule") {
  std::mt19937_64 random(test::test_seed());
  for (int to = 1; to < type_count; ++to) {
    for (int from = 1; from < type_count; ++from) {
      const auto to_type = static_cast<Type>(to), from_type = static_cast<Type>(from);
      if (to_type == Type::text || from_type == Type::text) continue;
      CAPTURE(type_name(to_type));
      CAPTURE(type_name(from_type));
      for (const long double reach : {100.L, 200.L, 40000.L, 5e9L, 1e19L}) {
        // Lengths around the size of the blocks that are checked at once.
        for (const std::int64_t n : {0, 1, 7, 511, 512, 513, 1500}) {
          check_against_rule(to_type, from_type, random_values(from_type, n, reach, random), n);
        }
      }
    }
  }
}

TEST_CASE("one value out of range among many is found wherever it stands") {
  for (const std::size_t at : {0UL, 1UL, 2UL, 3UL, 510UL, 511UL, 512UL, 1022UL, 1023UL, 1024UL}) {
    std::vector<double> source(1025, 1.5);
    source[at] = 1e300;
    std::vector<float> result(source.size());
    const float fill = -1;
    CHECK(convert_put(Type::float32, result.data(), Type::float64, source.data(), 1025, &fill, false) ==
          NC_ERANGE);
    for (std::size_t i = 0; i < result.size(); ++i) CHECK(result[i] == (i == at ? -1.F : 1.5F));
  }
}

TEST_CASE("fractions beyond an integer's limits are out of range") {
  CHECK(put_one<std::int8_t>(Type::int8, Type::float32, 127.F, NC_NOERR) == 127);
  CHECK(put_one<std::int8_t>(Type::int8, Type::float32, 127.5F, NC_ERANGE) == -127);
  CHECK(put_one<std::int8_t>(Type::int8, Type::float32, -128.F, NC_NOERR) == -128);
  CHECK(put_one<std::int8_t>(Type::int8, Type::float32, -128.5F, NC_ERANGE) == -127);
  CHECK(put_one<std::uint8_t>(Type::uint8, Type::float64, -0.5, NC_ERANGE) == 255);
  CHECK(put_one<std::int32_t>(Type::int32, Type::float32, 2147483648.F, NC_ERANGE) == -2147483647);
  CHECK(put_one<std::int32_t>(Type::int32, Type::float64, 2147483647., NC_NOERR) == 2147483647);
  CHECK(put_one<std::int16_t>(Type::int16, Type::float64, 32767., NC_NOERR) == 32767);
}

TEST_CASE("NaN is in range everywhere") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(put_one<float>(Type::float32, Type::float64, nan, NC_NOERR)));
  CHECK(std::isnan(get_one<double>(Type::float64, Type::float32, static_cast<float>(nan), NC_NOERR)));
  CHECK(put_one<std::int8_t>(Type::int8, Type::float64, nan, NC_NOERR) == 0);
  CHECK(put_one<std::uint32_t>(Type::uint32, Type::float64, nan, NC_NOERR) == 0);
  CHECK(put_one<std::int32_t>(Type::int32, Type::float64, nan, NC_NOERR) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(put_one<std::int64_t>(Type::int64, Type::float64, nan, NC_NOERR) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(put_one<std::uint64_t>(Type::uint64, Type::float64, nan, NC_NOERR) == std::uint64_t{1} << 63);
}

TEST_CASE("infinity is out of range but for getting float as double") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float fill = 9.9692099683868690e+36F;
  CHECK(put_one<float>(Type::float32, Type::float64, static_cast<double>(infinity), NC_ERANGE) == fill);
  CHECK(put_one<double>(Type::float64, Type::float32, -infinity, NC_ERANGE) == 9.9692099683868690e+36);
  CHECK(get_one<double>(Type::float64, Type::float32, -infinity, NC_NOERR) ==
        -std::numeric_limits<double>::infinity());
  CHECK(put_one<float>(Type::float32, Type::float32, infinity, NC_NOERR) == infinity);
}

TEST_CASE("the power of two behind the largest 64-bit integers becomes those") {
  CHECK(put_one<std::int64_t>(Type::int64, Type::float64, 9223372036854775808., NC_NOERR) ==
        9223372036854775807);
  CHECK(get_one<std::uint64_t>(Type::uint64, Type::float32, 18446744073709551616.F, NC_NOERR) ==
        18446744073709551615U);
  CHECK(put_one<std::int64_t>(Type::int64, Type::float64, 9223372036854777856., NC_ERANGE) ==
        -9223372036854775806);
}

TEST_CASE("in CDF-1 and CDF-2 bytes are taken for signed and unsigned alike") {
  CHECK(put_one<std::int8_t>(Type::int8, Type::uint8, std::uint8_t{200}, NC_NOERR, true) == -56);
  CHECK(get_one<std::uint8_t>(Type::uint8, Type::int8, std::int8_t{-1}, NC_NOERR, true) == 255);
  CHECK(put_one<std::int8_t>(Type::int8, Type::uint8, std::uint8_t{200}, NC_ERANGE, false) == -127);
  CHECK(get_one<std::uint8_t>(Type::uint8, Type::int8, std::int8_t{-1}, NC_ERANGE, false) == 255);
  CHECK(is_plain_copy(Type::int8, Type::uint8, true));
  CHECK_FALSE(is_plain_copy(Type::int8, Type::uint8, false));
  CHECK(is_plain_copy(Type::text, Type::text, false));
}

TEST_CASE("a put out of range becomes the given fill value, a get the default one of the memory type") {
  const std::int16_t source[] = {300, 2};
  std::int8_t result[2], fill = 99;
  CHECK(convert_put(Type::int8, result, Type::int16, source, 2, &fill, false) == NC_ERANGE);
  CHECK(result[0] == 99);
  CHECK(result[1] == 2);
  CHECK(convert_get(Type::int8, result, Type::int16, source, 2, false) == NC_ERANGE);
  CHECK(result[0] == -127);
}

TEST_CASE("netCDF leaves values out of range as casts in C make them") {
  const std::vector<double> from{1.5, 300, -129, 3e9, 1e20, -1e20, 1e10};
  const auto cast_to = [&](Type type, auto to) {
    std::vector<decltype(to)> values(from.size());
    CHECK(convert_casting(type, values.data(), Type::float64, from.data(), 7) == NC_ERANGE);
    return values;
  };
  CHECK(cast_to(Type::int8, std::int8_t{}) == std::vector<std::int8_t>{1, 44, 127, 0, 0, 0, 0});
  CHECK(cast_to(Type::uint8, std::uint8_t{}) == std::vector<std::uint8_t>{1, 44, 127, 0, 0, 0, 0});
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  CHECK(cast_to(Type::int32, std::int32_t{}) ==
        std::vector<std::int32_t>{1, 300, -129, least, least, least, least});
  CHECK(cast_to(Type::uint32, std::uint32_t{}) ==
        std::vector<std::uint32_t>{1, 300, 4294967167, 3000000000, 0, 0, 1410065408});
  CHECK(cast_to(Type::uint64, std::uint64_t{}) ==
        std::vector<std::uint64_t>{1, 300, ~std::uint64_t{128}, 3000000000, 0, std::uint64_t{1} << 63,
                                   10000000000});
  const std::int64_t integer = -70000;
  std::int16_t small = 0;
  CHECK(convert_casting(Type::int16, &small, Type::int64, &integer, 1) == NC_ERANGE);
  CHECK(small == -4464);
}

TEST_CASE("bytes are reversed, in place too and at any alignment") {
  for (const std::size_t size : {1UL, 2UL, 4UL, 8UL}) {
    for (const std::int64_t n : {0, 1, 3, 17, 1000}) {
      const auto bytes = static_cast<std::size_t>(n) * size;
      std::vector<std::byte> source(bytes + 1), result(bytes + 1);
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7);
      copy_swapped(result.data() + 1, source.data() + 1, size, n);
      for (std::size_t i = 0; i < bytes; ++i) {
        REQUIRE(result[1 + i] == source[1 + i / size * size + size - 1 - i % size]);
      }
      copy_swapped(source.data() + 1, source.data() + 1, size, n);
      CHECK(std::equal(source.begin() + 1, source.end(), result.begin() + 1));
    }
  }
}

TEST_CASE("text is mixed with numbers or not") {
  CHECK(mixes_text(Type::text, Type::int8));
  CHECK_FALSE(mixes_text(Type::text, Type::text));
  CHECK_FALSE(mixes_text(Type::uint8, Type::int8));
}
