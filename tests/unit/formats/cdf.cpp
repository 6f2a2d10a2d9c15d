#include "sluice/formats/cdf.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "random_header.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::formats;
using sluice::tests::RandomHeader;
using sluice::tests::same;

namespace {

constexpr Version versions[] = {Version::cdf1, Version::cdf2, Version::cdf5};

template <class Action>
int status_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.status();
  }
  return NC_NOERR;
}

Header one_variable(Version version, Type type) {
  Header header;
  header.version = version;
  header.add_dimension({.name = "x", .length = 4});
  Variable variable;
  variable.name = "v";
  variable.type = type;
  variable.dimids = {0};
  header.add_variable(variable);
  return header;
}

}  // namespace

TEST_CASE("encoded headers decode to the same headers") {
  std::mt19937_64 random(test::test_seed());
  for (int round = 0; round < 600; ++round) {
    CAPTURE(round);
    auto header = RandomHeader(random, versions[round % 3]).make();
    const auto layout = compute_layout(header, {}, nullptr);
    const auto bytes = encode_header(header);
    REQUIRE(encoded_size(header) == static_cast<std::int64_t>(bytes.size()));
    REQUIRE(layout.header_size == static_cast<std::int64_t>(bytes.size()));
    const auto decoded = decode_header(bytes, true, -1, "test");
    REQUIRE(decoded.has_value());
    REQUIRE(decoded->size_bytes == static_cast<std::int64_t>(bytes.size()));
    REQUIRE(same(decoded->header, header));
    const auto again = layout_of(decoded->header, decoded->size_bytes);
    REQUIRE(again.record_size == layout.record_size);
    if (header.variable_count() > 0) REQUIRE(again.header_extent == layout.header_extent);
  }
}

TEST_CASE("without attributes of variables all the rest is the same") {
  std::mt19937_64 random(test::test_seed());
  for (int round = 0; round < 100; ++round) {
    auto header = RandomHeader(random, versions[round % 3]).make();
    compute_layout(header, {}, nullptr);
    const auto bytes = encode_header(header);
    const auto all = decode_header(bytes, true, -1, "x");
    const auto structure = decode_header(bytes, true, -1, "x", Detail::structure);
    REQUIRE(all);
    REQUIRE(structure);
    CHECK(structure->size_bytes == all->size_bytes);
    CHECK(structure->header.attributes.size() == all->header.attributes.size());
    Header bare = all->header;
    for (int id = 0; id < bare.variable_count(); ++id) bare.variable(id).attributes = {};
    CHECK(encode_header(structure->header) == encode_header(bare));
  }
}

TEST_CASE("a prefix that ends inside the header asks for more, a file that ends there is damaged") {
  std::mt19937_64 random(test::test_seed(7));
  auto header = RandomHeader(random, Version::cdf2).make();
  compute_layout(header, {}, nullptr);
  const auto bytes = encode_header(header);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::span prefix(bytes.data(), n);
    CAPTURE(n);
    CHECK_FALSE(decode_header(prefix, false, -1, "test").has_value());
    CHECK_FALSE(decode_header(prefix, false, static_cast<std::int64_t>(bytes.size()), "test").has_value());
    CHECK(status_of([&] { static_cast<void>(decode_header(prefix, true, -1, "test")); }) ==
          (n < 8 ? NC_EFILE : NC_ENOTNC));
  }
}

TEST_CASE("no damage of a byte or a word brings the decoder down") {
  std::mt19937_64 random(test::test_seed());
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    auto header = RandomHeader(random, versions[round % 3]).make();
    compute_layout(header, {}, nullptr);
    auto bytes = encode_header(header);
    const auto damages = 1 + random() % 3;
    for (std::uint64_t i = 0; i < damages; ++i) {
      const auto at = random() % bytes.size();
      const auto length = std::min<std::size_t>(random() % 2 == 0 ? 1 : 4, bytes.size() - at);
      const auto value = random() % 3 == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, value);
    }
    accepted += status_of([&] { static_cast<void>(decode_header(bytes, true, -1, "test")); }) == NC_NOERR;
  }
  CHECK(accepted > 0);  // some damage hits data, where every value is valid
}

TEST_CASE("metadata is decoded whatever its offsets are") {
  auto header = one_variable(Version::cdf1, Type::int32);
  header.variable(0).begin = 4;
  header.variable(0).vsize = 16;
  header.version = Version::cdf5;
  const auto bytes = encode_header(header);
  CHECK(same(decode_metadata(bytes, "message"), header));
  CHECK(status_of([&] { static_cast<void>(decode_header(bytes, true, -1, "test")); }) == NC_ENOTNC);
  CHECK(status_of([&] { static_cast<void>(decode_metadata(std::span(bytes).first(20), "message")); }) ==
        NC_ENOTNC);
}

TEST_CASE("names come out as they are in the file, and are looked for in normal form C") {
  Header header;
  header.add_dimension({.name = "e\u0301", .length = 3});
  header.add_dimension({.name = "\u00e9", .length = 4});
  const auto decoded = decode_header(encode_header(header), true, -1, "test");
  CHECK(decoded->header.dimension(0).name == "e\u0301");
  CHECK(decoded->header.dimension(1).name == "\u00e9");
  CHECK(decoded->header.find_dimension("e\u0301") == 1);
}

TEST_CASE("types and sizes beyond the version are not encoded") {
  const auto encode_status = [](const Header& header) {
    return status_of([&] { static_cast<void>(encode_header(header)); });
  };
  for (const auto type : {Type::uint8, Type::uint16, Type::uint32, Type::int64, Type::uint64}) {
    CHECK(encode_status(one_variable(Version::cdf1, type)) == NC_ESTRICTCDF2);
    CHECK(encode_status(one_variable(Version::cdf2, type)) == NC_ESTRICTCDF2);
    CHECK(encode_status(one_variable(Version::cdf5, type)) == NC_NOERR);
  }
  auto header = one_variable(Version::cdf1, Type::int32);
  header.variable(0).begin = std::int64_t{1} << 31;
  CHECK(encode_status(header) == NC_EVARSIZE);
  header.version = Version::cdf2;
  CHECK(encode_status(header) == NC_NOERR);
  header.record_count = std::int64_t{1} << 32;
  CHECK(encode_status(header) == NC_EINTOVERFLOW);
  Header large;
  large.add_dimension({.name = "x", .length = std::int64_t{1} << 32});
  CHECK(encode_status(large) == NC_EDIMSIZE);
}

TEST_CASE("the bytes are those of the worked example") {
  // The example of docs/formats/cdf.md, "A worked example".
  Header header;
  header.record_count = 2;
  header.add_dimension({.name = "t", .length = 0, .is_record = true});
  header.add_dimension({.name = "x", .length = 3});
  Variable variable;
  variable.name = "h";
  variable.type = Type::int16;
  variable.dimids = {0, 1};
  Attribute units{.name = "units", .type = Type::text, .count = 1, .values = {std::byte{'m'}}};
  variable.attributes.put(units);
  header.add_variable(variable);
  const auto layout = compute_layout(header, {.record_align_bytes = 4}, nullptr);
  const unsigned char expected[] = {
      'C', 'D', 'F', 1,  0,   0,   0,   2,                  // magic, two records
      0,   0,   0,   10, 0,   0,   0,   2,                  // two dimensions
      0,   0,   0,   1,  't', 0,   0,   0,   0,   0, 0, 0,  // t, the record dimension
      0,   0,   0,   1,  'x', 0,   0,   0,   0,   0, 0, 3,  // x = 3
      0,   0,   0,   0,  0,   0,   0,   0,                  // no global attributes
      0,   0,   0,   11, 0,   0,   0,   1,                  // one variable
      0,   0,   0,   1,  'h', 0,   0,   0,   0,   0, 0, 2,   0, 0, 0, 0, 0, 0, 0, 1,  // h(t, x)
      0,   0,   0,   12, 0,   0,   0,   1,                                            // one attribute
      0,   0,   0,   5,  'u', 'n', 'i', 't', 's', 0, 0, 0,                            // units
      0,   0,   0,   2,  0,   0,   0,   1,   'm', 0, 0, 0,                            // char, one: "m"
      0,   0,   0,   3,  0,   0,   0,   8,   0,   0, 0, 120,  // short, vsize 8, begin 120
  };
  const auto bytes = encode_header(header);
  REQUIRE(bytes.size() == sizeof expected);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    CHECK(std::to_integer<unsigned>(bytes[i]) == expected[i]);
  }
  CHECK(layout.record_begin == 120);
  CHECK(layout.record_size == 6);  // a single record variable is not padded
}
