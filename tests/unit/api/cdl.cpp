#include "cdl.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "sluice/formats/error.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::formats;
using sluice::api::cdl::parse_cdl;

namespace {

const std::string definitions = "dimensions: t = UNLIMITED, x = 3 ; variables: float v(t, x) ; int w ;\n";

Header parse(const std::string& body) {
  return parse_cdl("netcdf a {" + body + "}", "a.cdl");
}

Status status_of(const std::string& text) {
  try {
    static_cast<void>(parse_cdl(text, "a.cdl"));
  } catch (const FormatError& error) {
    return error.status();
  }
  return NC_NOERR;
}

Status status_of_body(const std::string& body) {
  return status_of("netcdf a {" + definitions + body + "}");
}

Attribute attribute_of(const std::string& values) {
  return parse(definitions + "v:a = " + values + ";").variable(0).attributes[0];
}

template <class T>
std::vector<T> values_of(const Attribute& attribute) {
  std::vector<T> values(static_cast<std::size_t>(attribute.count));
  REQUIRE(values.size() * sizeof(T) == attribute.values.size());
  std::memcpy(values.data(), attribute.values.data(), attribute.values.size());
  return values;
}

std::string text_of(const Attribute& attribute) {
  return {reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size()};
}

}  // namespace

TEST_CASE("Dimensions, variables and attributes are read in their order") {
  const auto header = parse(
      "// a comment\ndimensions:\n\tt = UNLIMITED ; // (0 currently)\n\tx = 3, y\\ z = 4 ;\nvariables:\n"
      "\tdouble v(t, x), scalar ;\n\t\tv:units = \"m\" ;\n\tchar c(y\\ z) ;\n\n// global "
      "attributes:\n\t\t:title = \"T\" ;\ndata:\n v = 1 ; ");
  REQUIRE(header.dimension_count() == 3);
  CHECK(header.dimension(0).is_record);
  CHECK(header.dimension(1).length == 3);
  CHECK(header.dimension(2).name == "y z");
  REQUIRE(header.variable_count() == 3);
  CHECK(header.variable(0).dimids == std::vector<int>{0, 1});
  CHECK(header.variable(1).dimids.empty());
  CHECK(header.variable(2).type == Type::text);
  CHECK(text_of(header.variable(0).attributes[0]) == "m");
  CHECK(text_of(header.attributes[0]) == "T");
  CHECK(header.version == Version::cdf1);
}

TEST_CASE("Numbers have the types that their suffixes and forms tell") {
  CHECK(values_of<std::int8_t>(attribute_of("1b, -128b")) == std::vector<std::int8_t>{1, -128});
  CHECK(values_of<std::int16_t>(attribute_of("1s, 300S")) == std::vector<std::int16_t>{1, 300});
  CHECK(values_of<std::int32_t>(attribute_of("1, -5L, 0x1F")) == std::vector<std::int32_t>{1, -5, 31});
  CHECK(values_of<float>(attribute_of("1.5f, -2F")) == std::vector<float>{1.5F, -2});
  CHECK(values_of<double>(attribute_of("1., .5, 1e3, 5d")) == std::vector<double>{1, .5, 1000, 5});
  CHECK(values_of<std::uint8_t>(attribute_of("255ub")) == std::vector<std::uint8_t>{255});
  CHECK(values_of<std::uint32_t>(attribute_of("4000000000")) == std::vector<std::uint32_t>{4000000000});
  CHECK(values_of<std::int64_t>(attribute_of("-3000000000, 1")) == std::vector<std::int64_t>{-3000000000, 1});
  CHECK(values_of<std::uint64_t>(attribute_of("18446744073709551615ULL"))[0] ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(attribute_of("NaN, 1").type == Type::float64);
  CHECK(values_of<float>(attribute_of("-Infinityf"))[0] == -std::numeric_limits<float>::infinity());
  CHECK(values_of<double>(attribute_of("1, 2.5")) == std::vector<double>{1, 2.5});
  CHECK(values_of<std::int8_t>(attribute_of("'a', 'b'")) == std::vector<std::int8_t>{97, 98});
}

TEST_CASE("A type before an attribute, and that of the variable of _FillValue, wins over the values'") {
  const auto header = parse(definitions + "v:_FillValue = 7 ; short w:a = 1.7, 2 ; double :g = 3 ;");
  CHECK(values_of<float>(header.variable(0).attributes[0]) == std::vector<float>{7});
  CHECK(values_of<std::int16_t>(header.variable(1).attributes[0]) == std::vector<std::int16_t>{1, 2});
  CHECK(values_of<double>(header.attributes[0]) == std::vector<double>{3});
}

TEST_CASE("Strings are joined and their escapes replaced") {
  CHECK(text_of(attribute_of("\"a\\n\\t\\\"\\\\\\101\\x42\", \"c\"")) == "a\n\t\"\\ABc");
  CHECK(text_of(attribute_of("\"a\\000b\"")) == std::string("a\0b", 3));
  CHECK(attribute_of("\"\"").count == 0);
}

TEST_CASE("The format is that of the comment, of _Format, or the smallest possible") {
  CHECK(parse("\n// file format: CDF-2 (large file)\n").version == Version::cdf2);
  CHECK(parse(":_Format = \"64-bit data\" ;").version == Version::cdf5);
  CHECK(parse(":_Format = \"64-bit data\" ;").attributes.size() == 0);
  CHECK(parse("variables: uint64 u ;").version == Version::cdf5);
  CHECK(parse("variables: int64 i ;").variable(0).type == Type::int64);
  CHECK(parse("dimensions: x = 5000000000 ;").version == Version::cdf5);
}

TEST_CASE("Mistakes have the right status") {
  CHECK(status_of("") == NC_ENOTNC);
  CHECK(status_of("CDF\x01") == NC_ENOTNC);
  CHECK(status_of("netcdf a") == NC_ENOTNC);
  CHECK(status_of("netcdf a {") == NC_ENOTNC);
  CHECK(status_of_body("int v;") == NC_ENAMEINUSE);
  CHECK(status_of_body("int q(nowhere);") == NC_EBADDIM);
  CHECK(status_of_body("int q(x, t);") == NC_EUNLIMPOS);
  CHECK(status_of_body("dimensions: u = unlimited;") == NC_EUNLIMIT);
  CHECK(status_of_body("dimensions: u = -1;") == NC_EDIMSIZE);
  CHECK(status_of_body("dimensions: u = 99999999999999999999;") == NC_EDIMSIZE);
  CHECK(status_of_body("complex q;") == NC_EBADTYPE);
  CHECK(status_of_body("string q;") == NC_ESTRICTNC3);
  CHECK(status_of_body("group: g {}") == NC_ESTRICTNC3);
  CHECK(status_of_body("q:a = 1;") == NC_ENOTVAR);
  CHECK(status_of_body("v:a = 300b;") == NC_ERANGE);
  CHECK(status_of_body("byte v:a = 300;") == NC_ERANGE);
  CHECK(status_of_body("v:a = \"x\", 1;") == NC_ECHAR);
  CHECK(status_of_body("v:a = ;") == NC_ENOTNC);
  CHECK(status_of_body("v:a = \"x") == NC_ENOTNC);
  CHECK(status_of_body("v:a = 1") == NC_ENOTNC);
  CHECK(status_of_body("int " + std::string(300, 'a') + ";") == NC_EMAXNAME);
}

TEST_CASE("A mistake is reported with its line") {
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_cdl("netcdf a {\nvariables:\n int v(x) ;\n}", "a.cdl")),
                       doctest::Contains("line 3"), FormatError);
}

TEST_CASE("Damaged texts are read or refused, never more") {
  const std::string whole =
      "netcdf a {" + definitions +
      "v:a = 1b, 2.5f, -3 ; v:b = \"a\\n\\x41\", \"c\" ; v:c = 'a' ; :_Format = \"cdf5\" ;}";
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(status_of(whole.substr(0, length)) != NC_NOERR);
  std::mt19937 random(test::test_seed());
  const std::string replacements = "{}:;,=()\"'\\/0x \n";
  for (int round = 0; round < 5000; ++round) {
    auto damaged = whole;
    for (int i = 0; i < 3; ++i) {
      const auto c =
          random() % 2 == 0 ? replacements[random() % replacements.size()] : static_cast<char>(random());
      damaged[random() % damaged.size()] = c;
    }
    static_cast<void>(status_of(damaged));  // throws only FormatError
  }
}
