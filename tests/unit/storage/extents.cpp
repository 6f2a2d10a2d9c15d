#include "sluice/storage/extents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "support/dense_reference.hpp"
#include "support/seed.hpp"

namespace sluice::storage {

TEST_CASE("each element belongs to exactly one of adjoining ranges") {
  const Extent extent{100, 10, 5, 0, 8};
  std::int64_t elements = 0;
  std::int64_t next = 5;
  for (std::int64_t begin = 90; begin < 200; begin += 13) {
    const Extent part = clip(extent, {begin, begin + 13});
    if (part.elements == 0) continue;
    CHECK(part.first_element == next);
    CHECK(part.offset_bytes == 100 + (next - 5) * 8);
    next += part.elements;
    elements += part.elements;
  }
  CHECK(elements == 10);
}

TEST_CASE("of overlapping extents the later put is kept, element by element") {
  for (const std::uint64_t seed : test::test_seeds(200)) {
    CAPTURE(seed);
    test::HyperslabGenerator random(seed);
    std::vector<Extent> extents;
    std::map<std::int64_t, std::pair<int, std::int64_t>> expected;  // offset → access, element
    for (int access = 0; access < 20; ++access) {
      const std::int64_t first = random.between(0, 60);
      const std::int64_t elements = random.between(1, 20);
      extents.push_back({1000 + 4 * first, elements, 0, access, 4});
      for (std::int64_t i = 0; i < elements; ++i) expected[1000 + 4 * (first + i)] = {access, i};
    }
    sort_extents(extents);
    CHECK(std::is_sorted(extents.begin(), extents.end(),
                         [](const Extent& a, const Extent& b) { return a.offset_bytes < b.offset_bytes; }));
    remove_overlaps(extents);
    CHECK(!has_overlaps(extents));
    std::map<std::int64_t, std::pair<int, std::int64_t>> found;
    for (const Extent& extent : extents) {
      for (std::int64_t i = 0; i < extent.elements; ++i)
        found[extent.offset_bytes + 4 * i] = {extent.access, extent.first_element + i};
    }
    CHECK(found == expected);
  }
}

TEST_CASE("covered parts of a range are visited once, together with small gaps") {
  for (const std::uint64_t seed : test::test_seeds(200)) {
    CAPTURE(seed);
    test::HyperslabGenerator random(seed);
    std::vector<Extent> extents;
    for (int i = 0; i < 20; ++i)
      extents.push_back({2 * random.between(0, 100), random.between(1, 9), 0, i, random.chance(50) ? 2 : 4});
    sort_extents(extents);
    const std::int64_t begin = random.between(0, 150);
    const FileRange range{begin, begin + random.between(1, 100)};
    const std::int64_t gap_bytes = random.between(0, 12);
    std::vector<char> expected(300, 0);
    for (const Extent& extent : extents) {
      const Extent part = clip(extent, range);
      std::fill_n(expected.begin() + part.offset_bytes, part.length_bytes(), 1);
    }
    for (std::size_t at = 0, last = 300; at < expected.size(); ++at) {
      if (expected[at] == 0) continue;
      if (last < at && at - last - 1 <= static_cast<std::size_t>(gap_bytes))
        std::fill(expected.begin() + static_cast<std::ptrdiff_t>(last),
                  expected.begin() + static_cast<std::ptrdiff_t>(at), 1);
      last = at;
    }
    std::vector<char> found(300, 0);
    for_each_covered(extents, range, gap_bytes, [&](const FileRange& covered) {
      CHECK(!covered.is_empty());
      for (std::int64_t i = covered.begin; i < covered.end; ++i) ++found[static_cast<std::size_t>(i)];
    });
    CHECK(found == expected);
  }
}

TEST_CASE("the union of several lists of ranges has each byte once") {
  for (const std::uint64_t seed : test::test_seeds(100)) {
    CAPTURE(seed);
    test::HyperslabGenerator random(seed);
    Coverage coverage;
    std::vector<int> bytes(400, 0);
    for (std::int64_t list = random.between(1, 6); list > 0; --list) {
      coverage.begin_list();
      for (std::int64_t at = random.between(0, 30); at < 380; at += random.between(0, 40)) {
        const std::int64_t end = at + random.between(1, 20);
        coverage.add({at, end});
        std::fill(bytes.begin() + at, bytes.begin() + end, 1);
        at = end;
      }
    }
    std::vector<int> found(400, 0);
    std::int64_t last_end = -1;
    for (const FileRange& range : coverage.join()) {
      CHECK(range.begin > last_end);
      last_end = range.end;
      for (std::int64_t i = range.begin; i < range.end; ++i) ++found[static_cast<std::size_t>(i)];
    }
    CHECK(found == bytes);
  }
}

}  // namespace sluice::storage
