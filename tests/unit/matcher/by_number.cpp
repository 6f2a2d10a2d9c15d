#include "sluice/matcher/by_number.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sluice/matcher/ascending_map.hpp"

using sluice::matcher::AscendingMap;
using sluice::matcher::ByNumber;

TEST_CASE("values by number are found, and gone through in the order of the numbers") {
  ByNumber<std::uint32_t, std::string> values;
  CHECK(values.begin() == values.end());
  values[5] = "five";
  values[0] = "zero";
  std::string& two = values[2];
  two = "two";
  values[70000] = "many";
  CHECK(&two == &values.at(2));
  CHECK(values.size() == 4);
  CHECK(values.contains(5));
  CHECK_FALSE(values.contains(1));
  CHECK_FALSE(values.contains(70001));
  CHECK_THROWS_AS((void)values.at(1), std::out_of_range);
  CHECK_THROWS_AS((void)values.at(70001), std::out_of_range);

  std::vector<std::string> found;
  for (const auto& [number, value] : values) found.push_back(std::to_string(number) + value);
  CHECK(found == std::vector<std::string>{"0zero", "2two", "5five", "70000many"});
  for (auto& [number, value] : values) value += "!";
  const ByNumber<std::uint32_t, std::string>& seen = values;
  CHECK(std::ranges::any_of(seen, [](const auto& entry) { return entry.second == "five!"; }));
  CHECK(seen.begin()->first == 0);
}

namespace {

/// Both, after the same changes as a std::map.
template <class Values>
void check_same(const Values& values, const std::map<std::uint64_t, std::string>& plain) {
  CHECK(values.size() == plain.size());
  CHECK(values.empty() == plain.empty());
  for (std::uint64_t number = 0; number < 300; ++number) {
    const std::string* const found = values.find(number);
    REQUIRE((found != nullptr) == plain.contains(number));
    if (found != nullptr) CHECK(*found == plain.at(number));
  }
}

}  // namespace

TEST_CASE("values by number and in ascending order do what std::map does") {
  std::mt19937 random(20261126);
  const auto below = [&](std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random);
  };
  for (int round = 0; round < 30; ++round) {
    ByNumber<std::uint64_t, std::string> by_number;
    AscendingMap<std::uint64_t, std::string> ascending;
    std::map<std::uint64_t, std::string> plain;
    std::uint64_t next = 0;
    for (int change = 0; change < 200; ++change) {
      const bool is_new = below(2) == 0;
      // Most come in order, some are set again, and some come late.
      const std::uint64_t number = is_new && below(10) != 0 ? next++ : below(next + 1);
      if (is_new) {
        const std::string value = std::to_string(below(1000)) + " is too long to lie within a string";
        by_number[number] = value;
        ascending.set(number, value);
        plain[number] = value;
      } else {
        CHECK(ascending.erase(number) == plain.contains(number));
        by_number.erase(number);
        plain.erase(number);
      }
      if (!plain.empty()) CHECK(ascending.back().key == plain.rbegin()->first);
    }
    check_same(by_number, plain);
    check_same(ascending, plain);
    auto expected = plain.begin();
    for (const auto& [number, value] : by_number) CHECK(number == expected++->first);
    expected = plain.begin();
    for (const auto& entry : ascending) CHECK(entry.value == expected++->second);
    CHECK(expected == plain.end());
    AscendingMap<std::uint64_t, std::string>::Walk walk(ascending);
    for (std::uint64_t asked = 0, number = 0; asked < 300; ++asked) {
      number = below(8) == 0 ? below(next + 2) : number + 1;  // most are the next one
      const std::string* const found = walk.find(number);
      CHECK((found != nullptr) == plain.contains(number));
      if (found != nullptr) CHECK(*found == plain.at(number));
    }
  }
}
