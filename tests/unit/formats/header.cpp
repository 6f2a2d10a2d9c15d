#include "sluice/formats/header.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/formats/netcdf4.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

Attribute number(const std::string& name, float value) {
  Attribute attribute{.name = name, .type = Type::float32, .count = 1, .values = std::vector<std::byte>(4)};
  std::memcpy(attribute.values.data(), &value, 4);
  return attribute;
}

Header example() {
  Header header;
  header.add_dimension({.name = "time", .length = 0, .is_record = true});
  header.add_dimension({.name = "x", .length = 3});
  header.add_dimension({.name = "größe", .length = 2});
  Variable height;
  height.name = "height";
  height.type = Type::float32;
  height.dimids = {0, 1, 2};
  header.add_variable(height);
  Variable scalar;
  scalar.name = "scalar";
  scalar.type = Type::int32;
  header.add_variable(scalar);
  return header;
}

}  // namespace

TEST_CASE("dimensions and variables are found by name, in any normal form") {
  const auto header = example();
  CHECK(header.find_dimension("x") == 1);
  CHECK(header.find_dimension("größe") == 2);
  CHECK(header.find_dimension("gro\u0308ße") == 2);  // o with a combining diaeresis
  CHECK(header.find_dimension("y") == -1);
  CHECK(header.find_variable("height") == 0);
  CHECK(header.find_variable("") == -1);
  CHECK(header.record_dimension() == 0);
}

TEST_CASE("a renamed dimension is found by its new name only") {
  auto header = example();
  header.rename_dimension(1, "longitude");
  CHECK(header.find_dimension("x") == -1);
  CHECK(header.find_dimension("longitude") == 1);
  header.rename_variable(0, "sea_level");
  CHECK(header.find_variable("height") == -1);
  CHECK(header.find_variable("sea_level") == 0);
}

TEST_CASE("very many names are found, whatever was renamed before") {
  Header header;
  constexpr int count = 3000;
  for (int i = 0; i < count; ++i) header.add_dimension({"d" + std::to_string(i), i + 1, false});
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < count; i += 3)
      header.rename_dimension(i, "r" + std::to_string(round) + "_" + std::to_string(i));
  }
  for (int i = 0; i < count; ++i) {
    const std::string first = "d" + std::to_string(i);
    CHECK(header.find_dimension(first) == (i % 3 == 0 ? -1 : i));
    CHECK(header.find_dimension("r3_" + std::to_string(i)) == -1);
    CHECK(header.find_dimension("r4_" + std::to_string(i)) == (i % 3 == 0 ? i : -1));
  }
  // A name that has become free can be used again.
  header.rename_dimension(1, "d0");
  CHECK(header.find_dimension("d0") == 1);
  CHECK(header.add_dimension({"d0", 7, false}) == count);
  CHECK(header.find_dimension("d0") == 1);
}

TEST_CASE("a shape starts with the number of records") {
  auto header = example();
  header.record_count = 7;
  CHECK(header.shape(0) == std::vector<std::int64_t>{7, 3, 2});
  CHECK(header.elements_per_record(0) == 6);
  CHECK(header.is_record_variable(0));
  CHECK(header.shape(1).empty());
  CHECK(header.elements_per_record(1) == 1);
  CHECK_FALSE(header.is_record_variable(1));
}

TEST_CASE("attributes keep their order and their places") {
  Attributes attributes;
  CHECK(attributes.put(number("a", 1)) == 0);
  CHECK(attributes.put(number("b", 2)) == 1);
  CHECK(attributes.put(number("a", 3)) == 0);
  CHECK(attributes.size() == 2);
  attributes.rename(0, "c");
  CHECK(attributes.find("a") == -1);
  CHECK(attributes.find("c") == 0);
  attributes.remove(0);
  CHECK(attributes.find("b") == 0);
}

TEST_CASE("many attributes are found as few are, whatever happens to them") {
  Attributes attributes;
  const auto name = [](int i) { return "name " + std::to_string(i); };
  for (int i = 0; i < 100; ++i) {
    CHECK(attributes.find(name(i)) == -1);
    CHECK(attributes.put(number(name(i), 1)) == i);
    CHECK(attributes.put(number(name(i / 2), 2)) == i / 2);
  }
  attributes.rename(50, "renamed");
  CHECK(attributes.find("renamed") == 50);
  CHECK(attributes.find(name(50)) == -1);
  attributes.remove(10);
  CHECK(attributes.find(name(10)) == -1);
  CHECK(attributes.find("renamed") == 49);
  CHECK(attributes.put(number(name(10), 3)) == 99);
  CHECK(attributes.put(number(name(99), 3)) == 98);
  for (int i = 11; i < 100; ++i)
    if (i != 50) CHECK(attributes.find(name(i)) == i - 1);
  const Attributes copy = attributes;
  CHECK(copy.find(name(10)) == 99);
}

TEST_CASE("a variable's fill value is its attribute only where that is of its own type and one element") {
  auto header = example();
  float value = 0;
  header.fill_value(0, &value);
  CHECK(value == 9.9692099683868690e+36F);
  header.variable(0).attributes.put(number("_FillValue", -999));
  header.fill_value(0, &value);
  CHECK(value == -999);
  std::int32_t integer = 0;
  header.variable(1).attributes.put(number("_FillValue", -999));
  header.fill_value(1, &integer);
  CHECK(integer == -2147483647);
}

TEST_CASE("copies of a header are independent") {
  const auto original = example();
  auto copy = original;
  copy.rename_dimension(1, "y");
  copy.add_dimension({.name = "z", .length = 1});
  CHECK(original.find_dimension("x") == 1);
  CHECK(original.dimension_count() == 3);
}

TEST_CASE("attributes that a netCDF-4 step has changed are found; a list that names others is damaged") {
  auto header = example();
  header.attributes.put(number("of all", 1));
  header.variable(1).attributes.put(number("offset", 2));
  std::vector<std::pair<int, std::string>> found;
  const auto read = [&](const std::string& list) {
    const auto note = [&](int id, const Attribute& changed) { found.emplace_back(id, changed.name); };
    for_each_netcdf4_change(std::as_bytes(std::span(list)), header, note);
  };
  read("-1 of all\n1 offset\n");
  CHECK(found == std::vector<std::pair<int, std::string>>{{-1, "of all"}, {1, "offset"}});
  for (const char* const damaged : {"2 offset\n", "-2 of all\n", "0 offset\n", "x\n", "\n", "1"})
    CHECK_THROWS_AS(read(damaged), Error);
}
