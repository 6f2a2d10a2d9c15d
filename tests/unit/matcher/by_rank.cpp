#include "sluice/matcher/by_rank.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using sluice::matcher::ByRank;

TEST_CASE("values by rank are found, and gone through in the order of the ranks") {
  ByRank<std::string> values;
  CHECK(values.begin() == values.end());
  values.reserve(6);
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
  for (const auto& [rank, value] : values) found.push_back(std::to_string(rank) + value);
  CHECK(found == std::vector<std::string>{"0zero", "2two", "5five", "70000many"});
  for (auto& [rank, value] : values) value += "!";
  const ByRank<std::string>& seen = values;
  CHECK(std::ranges::any_of(seen, [](const auto& entry) { return entry.second == "five!"; }));
  CHECK(seen.begin()->first == 0);
}
