#include "glob.hpp"

#include <doctest/doctest.h>
#include <fnmatch.h>

#include <random>

#include "support/seed.hpp"

using namespace sluice::workflows;

namespace {
Glob glob(std::string_view pattern) {
  auto parsed = parse_glob(pattern);
  REQUIRE_MESSAGE(std::holds_alternative<Glob>(parsed), pattern);
  return std::get<Glob>(parsed);
}
GlobRelation relation(std::string_view first, std::string_view second) {
  return relate(glob(first), glob(second));
}
}  // namespace

TEST_CASE("patterns that cannot be compared with trailing path components are refused") {
  for (const char* pattern :
       {"",       "/a.nc",        "a//b",  "a/",           "./a",      "a/../b",          "***",
        "a**.nc", "a/**b/c",      "[a.nc", "[]",           "[!]",      "[z-a]",           "a\tb",
        "a\nb",   "wave_%04d.nc", "%d",    "out_%Y-%m.nc", "{a,b}.nc", "run_{1..4}/a.nc", "x_{step}.nc"}) {
    CAPTURE(pattern);
    CHECK(std::holds_alternative<GlobProblem>(parse_glob(pattern)));
  }
}

TEST_CASE("characters that are no wildcards are those of a name") {
  for (const char* pattern : {"100%", "a%_b.nc", "%.nc", "a{b", "a}b", "[{]a,b}.nc", "a[%]d.nc"}) {
    CAPTURE(pattern);
    CHECK(std::holds_alternative<Glob>(parse_glob(pattern)));
  }
}

TEST_CASE("patterns of one component are related by the names that they cover") {
  CHECK(relation("a.nc", "a.nc") == GlobRelation::covered);
  CHECK(relation("a.nc", "b.nc") == GlobRelation::disjoint);
  CHECK(relation("*.nc", "wave_*.nc") == GlobRelation::covered);
  CHECK(relation("wave_*.nc", "*.nc") == GlobRelation::overlapping);
  CHECK(relation("a*", "*b") == GlobRelation::overlapping);
  CHECK(relation("f.1", "f.10") == GlobRelation::disjoint);
  CHECK(relation("f.[0-9]", "f.[!0-9]") == GlobRelation::disjoint);
  CHECK(relation("f.?", "f.[0-9]") == GlobRelation::covered);
  CHECK(relation("*", "?*?") == GlobRelation::covered);
}

TEST_CASE("patterns of several components are compared from the end of the path") {
  CHECK(relation("wave.nc", "out/wave.nc") == GlobRelation::covered);
  CHECK(relation("out/wave.nc", "wave.nc") == GlobRelation::overlapping);
  CHECK(relation("a/wave.nc", "b/wave.nc") == GlobRelation::disjoint);
  CHECK(relation("*/wave.nc", "b/*.nc") == GlobRelation::overlapping);
}

TEST_CASE("patterns of any depth are related by the paths that they cover") {
  CHECK(relation("s.zarr/**", "s.zarr/**") == GlobRelation::covered);
  CHECK(relation("s.zarr/**", "s.zarr/a") == GlobRelation::covered);
  CHECK(relation("s.zarr/**", "s.zarr/*/*") == GlobRelation::covered);
  CHECK(relation("s.zarr/**", "s.zarr/a/**/b") == GlobRelation::covered);
  CHECK(relation("s.zarr/a", "s.zarr/**") == GlobRelation::overlapping);
  CHECK(relation("a.zarr/**", "a/b.nc") == GlobRelation::overlapping);  // a.zarr/a/b.nc
  CHECK(relation("run/**/a.nc", "run/a.nc") == GlobRelation::covered);
  CHECK(relation("run/**/a.nc", "b.nc") == GlobRelation::disjoint);
  CHECK(relation("**/a.nc", "a.nc") == GlobRelation::covered);
  CHECK(relation("a.nc", "**/a.nc") == GlobRelation::covered);
  CHECK(relation("**", "a") == GlobRelation::covered);
}

TEST_CASE("random patterns relate as fnmatch says for all short names") {
  std::mt19937 random(sluice::test::test_seed());
  const auto pick = [&](std::string_view from) { return from[random() % from.size()]; };
  std::vector<std::string> names{""};
  for (std::size_t i = 0; i < names.size() && names[i].size() < 5; ++i) {
    for (const char c : {'a', 'b'}) names.push_back(names[i] + c);
  }
  for (int round = 0; round < 300; ++round) {
    std::string patterns[2];
    for (std::string& pattern : patterns) {
      while (pattern.size() < 3 || random() % 2 == 0) {
        const char c = pick("aab?*");
        if (pattern.size() > 4) break;
        if (c != '*' || pattern.empty() || pattern.back() != '*') pattern += c;
      }
    }
    CAPTURE(patterns[0]);
    CAPTURE(patterns[1]);
    bool both = false;
    bool second_only = false;
    for (const std::string& name : names) {
      const bool first = fnmatch(patterns[0].c_str(), name.c_str(), 0) == 0;
      const bool second = fnmatch(patterns[1].c_str(), name.c_str(), 0) == 0;
      both |= first && second;
      second_only |= second && !first;
    }
    const GlobRelation found = relation(patterns[0], patterns[1]);
    if (both) CHECK(found != GlobRelation::disjoint);
    if (second_only) CHECK(found != GlobRelation::covered);
    if (found == GlobRelation::covered) CHECK(both);
  }
}
