#include "sluice/formats/path_pattern.hpp"

#include <doctest/doctest.h>
#include <fnmatch.h>

#include <random>

#include "support/seed.hpp"

using namespace sluice::formats;

namespace {

using Parts = std::vector<std::string>;

Parts parts_of(const std::string& text) {
  Parts parts{""};
  for (const char c : text) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Tries all that "**" may stand for.
bool covers_whole(const Parts& pattern, std::size_t p, const Parts& path, std::size_t n) {
  if (p == pattern.size()) return n == path.size();
  if (pattern[p] == "**") {
    if (p + 1 == pattern.size()) return n < path.size();
    for (std::size_t end = n; end <= path.size(); ++end)
      if (covers_whole(pattern, p + 1, path, end)) return true;
    return false;
  }
  return n < path.size() && fnmatch(pattern[p].c_str(), path[n].c_str(), 0) == 0 &&
         covers_whole(pattern, p + 1, path, n + 1);
}

bool covers_plainly(const std::string& pattern, const std::string& path) {
  const Parts all = parts_of(path);
  for (std::size_t first = 0; first < all.size(); ++first)
    if (covers_whole(parts_of(pattern), 0, all, first)) return true;
  return false;
}

}  // namespace

TEST_CASE("'**' stands for any number of directories") {
  CHECK(covers_path("s.zarr/**", "/run/s.zarr/.zattrs"));
  CHECK(covers_path("s.zarr/**", "/run/s.zarr/t/c/0/1"));
  CHECK_FALSE(covers_path("s.zarr/**", "/run/s.zarr"));
  CHECK_FALSE(covers_path("s.zarr/**", "/run/x.zarr/t"));
  CHECK(covers_path("run/**/a.nc", "/run/a.nc"));
  CHECK(covers_path("run/**/a.nc", "/run/1/2/a.nc"));
  CHECK_FALSE(covers_path("run/**/a.nc", "/runs/a.nc"));
  CHECK(covers_path("**/a.nc", "a.nc"));
  CHECK(covers_path("**", "a"));
  CHECK(covers_path("a/**/b/**/c", "a/x/b/y/b/z/c"));
}

TEST_CASE("the longest tail that the pattern covers is the file's name") {
  const auto begin = [](std::string_view pattern, const std::string& path) {
    return covered_tail(pattern_components(pattern), parts_of(path));
  };
  CHECK(begin("s/**", "x/s/a/s/b") == 1);
  CHECK(begin("*/b", "x/s/a/s/b") == 3);
  CHECK(begin("b", "x/s/a") == std::nullopt);
  CHECK(begin("", "x") == std::nullopt);
}

TEST_CASE("random patterns cover what a plain comparison says") {
  std::mt19937 random(sluice::test::test_seed());
  const auto pick = [&](const std::vector<const char*>& from) {
    return std::string(from[random() % from.size()]);
  };
  const auto joined = [&](std::size_t most, const std::vector<const char*>& from) {
    std::string text = pick(from);
    for (std::size_t count = random() % most; count > 0; --count) text += '/' + pick(from);
    return text;
  };
  int covered = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string pattern = joined(5, {"**", "*", "a", "b", "a*", "?b", "[ab]", "[!a]b", "*a*b"});
    const std::string path = joined(7, {"a", "b", "ab", "ba", "bb", "aab"});
    CAPTURE(pattern);
    CAPTURE(path);
    const bool expected = covers_plainly(pattern, path);
    covered += expected ? 1 : 0;
    REQUIRE(covers_path(pattern, path) == expected);
  }
  CHECK(covered > 1000);
}
