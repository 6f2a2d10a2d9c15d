#include "sluice/formats/near_match.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sluice::formats;

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("reader", "readers") == 1);
  CHECK(edit_distance("wirter", "writer") == 1);
  CHECK(edit_distance("Writer", "writer") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("a near word is suggested, a far one is not") {
  const std::vector<std::string> keys{"path", "writer", "readers", "queue"};
  CHECK(near_match("reader", keys) == "readers");
  CHECK(near_match("wirter", keys) == "writer");
  CHECK(near_match("pth", keys) == "path");
  CHECK(near_match("colour", keys).empty());
  CHECK(near_match("", keys).empty());
  CHECK(near_match("wave_0011.nc", std::vector<std::string>{"wave_0001.nc", "wave_0010.nc",
                                                            "wave_1011.nc"}) == "wave_0010.nc");
  CHECK(near_match("wave_11.nc", std::vector<std::string>{"wave_1.nc", "wave_10.nc"}) == "wave_10.nc");
  CHECK(near_match(std::string(100000, 'x'), keys).empty());
}

TEST_CASE("of a long list, the first words are named") {
  const std::vector<std::string> words{"a", "b", "c"};
  CHECK(join(words, 3) == "a, b, c");
  CHECK(join(words, 2) == "a, b and 1 more");
  CHECK(join({}, 2).empty());
}
