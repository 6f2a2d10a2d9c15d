// Compares our results with Debian's libpnetcdf: conversion, selections, names, damaged files.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <vector>

#include "reference_pnetcdf.h"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/names.hpp"
#include "sluice/formats/status.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

/// Numbers close to the limits of all types, if T can hold them.
template <class T>
std::vector<std::byte> numbers_near_limits() {
  std::vector<long double> numbers{
      0, 1, -1, 0.5L, -0.5L, 1e30L, -1e30L, 3.4028234663852886e38L, 3.5e38L, 1e300L, -1e300L};
  for (const auto limit : {128.L, 256.L, 32768.L, 65536.L, 2147483648.L, 4294967296.L, 9223372036854775808.L,
                           18446744073709551616.L}) {
    for (const auto step : {-1.L, -0.5L, 0.L, 0.5L, 1.L}) {
      numbers.push_back(limit + step);
      numbers.push_back(-limit + step);
    }
  }
  std::vector<std::byte> bytes;
  const auto append = [&bytes](T value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  };
  for (const auto number : numbers) {
    const bool is_value =
        number >= std::numeric_limits<T>::lowest() && number <= std::numeric_limits<T>::max();
    if (is_value) append(static_cast<T>(number));
  }
  if constexpr (std::numeric_limits<T>::has_infinity) {
    append(std::numeric_limits<T>::infinity());
    append(-std::numeric_limits<T>::infinity());
    append(std::numeric_limits<T>::quiet_NaN());
  }
  return bytes;
}

std::vector<std::byte> numbers_of(Type type) {
  switch (type) {
    case Type::int8:
      return numbers_near_limits<std::int8_t>();
    case Type::int16:
      return numbers_near_limits<std::int16_t>();
    case Type::int32:
      return numbers_near_limits<std::int32_t>();
    case Type::float32:
      return numbers_near_limits<float>();
    case Type::float64:
      return numbers_near_limits<double>();
    case Type::uint8:
      return numbers_near_limits<std::uint8_t>();
    case Type::uint16:
      return numbers_near_limits<std::uint16_t>();
    case Type::uint32:
      return numbers_near_limits<std::uint32_t>();
    case Type::int64:
      return numbers_near_limits<std::int64_t>();
    case Type::uint64:
      return numbers_near_limits<std::uint64_t>();
    default:
      return {};
  }
}

/// 2^63 and 2^64 put into 64-bit integers: the reference's result is an undefined cast, ours is the largest
/// integer.
bool is_undefined_there(Type to, Type from, const std::byte* at) {
  double value = 0;
  if (from == Type::float32) {
    float narrow = 0;
    std::memcpy(&narrow, at, sizeof narrow);
    value = static_cast<double>(narrow);
  } else if (from == Type::float64) {
    std::memcpy(&value, at, sizeof value);
  }
  return (to == Type::int64 && value == std::exp2(63)) || (to == Type::uint64 && value == std::exp2(64));
}

void compare_conversion(int version, bool is_put, Type to, Type from) {
  const auto source = numbers_of(from);
  const auto n = source.size() / size_of(from);
  std::vector<std::byte> theirs(n * size_of(to)), ours(n * size_of(to)), fill(8);
  default_fill(to, fill.data());
  const auto count = static_cast<std::int64_t>(n);
  const int their_status = is_put ? reference_put(version, static_cast<int>(to), static_cast<int>(from),
                                                  source.data(), count, theirs.data())
                                  : reference_get(version, static_cast<int>(from), static_cast<int>(to),
                                                  source.data(), count, theirs.data());
  const int our_status =
      is_put ? convert_put(to, ours.data(), from, source.data(), count, fill.data(), version != 5)
             : convert_get(to, ours.data(), from, source.data(), count, version != 5);
  CHECK(our_status == their_status);
  for (std::size_t i = 0; i < n; ++i) {
    if (is_put && is_undefined_there(to, from, source.data() + i * size_of(from))) continue;
    CAPTURE(i);
    CHECK(std::memcmp(ours.data() + i * size_of(to), theirs.data() + i * size_of(to), size_of(to)) == 0);
  }
}

void compare_selections(StartRule start_rule) {
  std::mt19937_64 random(test::test_seed());
  const auto pick = [&random](int least, int largest) {
    return static_cast<std::int64_t>(std::uniform_int_distribution<int>(least, largest)(random));
  };
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::int64_t> shape, start, count, stride;
    const auto rank = pick(1, 3);
    const bool is_record = pick(0, 1) == 1, is_put = pick(0, 1) == 1;
    const bool is_legal_mostly = pick(0, 3) != 0;
    for (std::int64_t d = 0; d < rank; ++d) {
      shape.push_back(pick(is_record && d == 0 ? 0 : 1, 5));
      start.push_back(is_legal_mostly ? pick(0, static_cast<int>(shape.back())) : pick(-2, 7));
      count.push_back(is_legal_mostly ? pick(0, 3) : pick(-2, 7));
      stride.push_back(is_legal_mostly ? pick(1, 2) : pick(-1, 4));
    }
    if (pick(0, 1) == 0) stride.clear();
    const int theirs = reference_select(is_put, is_record, static_cast<int>(rank), shape.data(), start.data(),
                                        count.data(), stride.empty() ? nullptr : stride.data());
    CAPTURE(round);
    CAPTURE(is_put);
    CAPTURE(is_record);
    std::ostringstream text;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      text << " shape " << shape[d] << " start " << start[d] << " count " << count[d];
      if (!stride.empty()) text << " stride " << stride[d];
      text << ';';
    }
    CAPTURE(text.str());
    REQUIRE(check_selection({start, count, stride}, shape, is_record, is_put, start_rule) == theirs);
  }
}

}  // namespace

TEST_CASE("selections are refused with the codes of Debian's libpnetcdf") {
  compare_selections(StartRule::relaxed);
}

TEST_CASE("and so they are where no range may start at the end") {
  setenv("PNETCDF_RELAX_COORD_BOUND", "0", 1);
  compare_selections(StartRule::strict);
  unsetenv("PNETCDF_RELAX_COORD_BOUND");
}

TEST_CASE("conversions give the values and statuses of Debian's libpnetcdf") {
  for (const int version : {1, 5}) {
    for (const bool is_put : {true, false}) {
      for (int to = 1; to < type_count; ++to) {
        for (int from = 1; from < type_count; ++from) {
          const auto to_type = static_cast<Type>(to), from_type = static_cast<Type>(from);
          if (to_type == Type::text || from_type == Type::text) continue;
          if (version != 5 && needs_cdf5(is_put ? to_type : from_type)) continue;
          CAPTURE(version);
          CAPTURE(is_put);
          CAPTURE(type_name(from_type));
          CAPTURE(type_name(to_type));
          compare_conversion(version, is_put, to_type, from_type);
        }
      }
    }
  }
}

TEST_CASE("names are refused with the codes of Debian's libpnetcdf") {
  std::vector<std::string> names{"",
                                 "a b",
                                 "a ",
                                 "größe",
                                 "e\u0301",
                                 "\xff\xfe",
                                 "a\xc3",
                                 "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xc0\x80",
                                 "\uffff",
                                 "a\u0080",
                                 std::string(256, 'a'),
                                 std::string(257, 'a'),
                                 std::string(300, '/')};
  for (int c = 1; c < 128; ++c) {
    names.push_back(std::string(1, static_cast<char>(c)) + "x");
    names.push_back(std::string("x") + static_cast<char>(c) + "x");
    names.push_back(std::string("x") + static_cast<char>(c));
  }
  for (const auto& name : names) {
    CAPTURE(name);
    CHECK(check_name(name) == reference_define_name(name.c_str()));
  }
}

TEST_CASE("the golden list is right about Debian's libpnetcdf") {
  const std::filesystem::path folder = GOLDEN_FOLDER;
  std::ifstream list(folder / "expected.txt");
  std::string name, ours, theirs;
  while (list >> name >> ours >> theirs) {
    if (theirs == "-") continue;
    CAPTURE(name);
    const int status = reference_open((folder / name).c_str());
    CHECK((status == NC_NOERR ? "OK" : std::string(status_name(status))) == theirs);
  }
}
