#include "sluice/matcher/ownership.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sluice/matcher/box.hpp"
#include "support/dense_reference.hpp"
#include "support/seed.hpp"

using namespace sluice;
using matcher::OwnedPart;
using matcher::Ownership;
using matcher::Partition;
using matcher::PartitionKind;
using test::HyperslabGenerator;

namespace {

std::vector<OwnedPart> divide(const Ownership& ownership, const formats::Hyperslab& slab) {
  std::vector<OwnedPart> parts;
  ownership.divide(slab.view(), parts);
  return parts;
}

/// The owner of each element of a slab, by its parts; -1: in no part, -2: in two parts.
std::vector<std::int64_t> owners_by_parts(const Ownership& ownership, const formats::Hyperslab& slab,
                                          const std::vector<std::int64_t>& shape) {
  std::map<std::size_t, std::int64_t> by_position;
  for (const OwnedPart& part : divide(ownership, slab)) {
    matcher::PartOfSlab cutter;
    const formats::HyperslabView cut = cutter.cut(slab.view(), ownership.dimension(), part);
    CHECK(matcher::is_sound(cut));
    CHECK(cut.elements() > 0);
    test::for_each_element(cut, [&](const std::vector<std::int64_t>& index, std::int64_t) {
      const auto [entry, is_new] = by_position.emplace(test::position_of(shape, index), part.owner);
      if (!is_new) entry->second = -2;
    });
  }
  std::vector<std::int64_t> owners;
  test::for_each_element(slab.view(), [&](const std::vector<std::int64_t>& index, std::int64_t) {
    const auto found = by_position.find(test::position_of(shape, index));
    owners.push_back(found == by_position.end() ? -1 : found->second);
  });
  CHECK(by_position.size() <= owners.size());
  return owners;
}

}  // namespace

TEST_CASE("the parts of a hyperslab are its elements, each with the owner that the element has") {
  HyperslabGenerator random(test::test_seed());
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const auto shape = random.shape(static_cast<std::size_t>(random.between(0, 5)), 500);
    const Partition partition{random.chance(90) ? PartitionKind::range : PartitionKind::variable,
                              static_cast<std::uint32_t>(random.between(1, 12)), random.between(0, 40)};
    const Ownership ownership(partition, static_cast<int>(random.between(0, 20)), shape);
    const formats::Hyperslab slab = random.hyperslab(shape);
    std::vector<std::int64_t> expected;
    test::for_each_element(slab.view(), [&](const std::vector<std::int64_t>& index, std::int64_t) {
      expected.push_back(ownership.owner_of(index));
      CHECK(expected.back() < partition.owners);
    });
    CHECK(owners_by_parts(ownership, slab, shape) == expected);
  }
}

TEST_CASE("a part says where it lies in the dense destination of the read") {
  HyperslabGenerator random(test::test_seed());
  for (int round = 0; round < 300; ++round) {
    const auto shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 500);
    const Ownership ownership({PartitionKind::range, 5, 1}, 0, shape);
    const formats::Hyperslab slab = random.hyperslab(shape);
    std::vector<std::vector<std::int64_t>> destination;  // the index of each element of the read
    test::for_each_element(slab.view(),
                           [&](const auto& index, std::int64_t) { destination.push_back(index); });
    for (const OwnedPart& part : divide(ownership, slab)) {
      matcher::PartOfSlab cutter;
      const auto cut = cutter.cut(slab.view(), ownership.dimension(), part);
      formats::Hyperslab within{
          std::vector<std::int64_t>(shape.size(), 0), {cut.count.begin(), cut.count.end()}, {}};
      if (ownership.dimension() >= 0) {
        within.start[static_cast<std::size_t>(ownership.dimension())] = part.first;
      }
      std::vector<std::vector<std::int64_t>> expected;
      test::for_each_element(cut, [&](const auto& index, std::int64_t) { expected.push_back(index); });
      std::vector<std::vector<std::int64_t>> found;
      test::for_each_element(within.view(), [&](const auto& element, std::int64_t) {
        found.push_back(destination[test::position_of(slab.count, element)]);
      });
      CHECK(found == expected);
    }
  }
}

TEST_CASE("parts of a variable differ in length by one at most, and every matcher has one") {
  for (const std::uint32_t owners : {1U, 2U, 3U, 7U, 64U, 1000U}) {
    for (const std::int64_t length : {1000LL, 1001LL, 4096LL, 1LL << 40, (1LL << 59) - 1}) {
      const std::vector<std::int64_t> shape{length};
      const Ownership ownership({PartitionKind::range, owners, 1}, 3, shape);
      const auto parts = divide(ownership, {{0}, {length}, {}});
      REQUIRE(parts.size() == owners);
      const auto [least, most] = std::ranges::minmax(parts, {}, &OwnedPart::count);
      CHECK(most.count - least.count <= 1);
      std::vector<std::uint32_t> seen;
      for (const OwnedPart& part : parts) seen.push_back(part.owner);
      std::ranges::sort(seen);
      CHECK(std::ranges::adjacent_find(seen) == seen.end());
    }
  }
}

TEST_CASE("the slowest dimension that is long enough is divided, or else the longest") {
  const auto dimension = [](std::vector<std::int64_t> shape, std::uint32_t owners) {
    return Ownership({PartitionKind::range, owners, 1}, 0, shape).dimension();
  };
  CHECK(dimension({}, 4) == -1);
  CHECK(dimension({1}, 4) == -1);
  CHECK(dimension({1, 1, 1}, 4) == -1);
  CHECK(dimension({5, 9}, 4) == 0);
  CHECK(dimension({1, 9, 9}, 4) == 1);  // one record
  CHECK(dimension({3, 2, 100}, 4) == 2);
  CHECK(dimension({3, 2}, 4) == 0);
  CHECK(dimension({0, 100}, 4) == -1);  // no record
  CHECK(dimension({5, 9}, 1) == -1);
}

TEST_CASE("variables of few elements are not divided, and are spread") {
  const std::vector<std::int64_t> shape{100};
  std::vector<std::uint32_t> owners;
  for (int varid = 0; varid < 4; ++varid) {
    const Ownership ownership({PartitionKind::range, 4, 1000}, varid, shape);
    CHECK(ownership.parts() == 1);
    owners.push_back(ownership.owner_of(std::vector<std::int64_t>{50}));
  }
  std::ranges::sort(owners);
  CHECK(owners == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(Ownership({PartitionKind::range, 4, 40}, 0, shape).parts() == 2);
  CHECK(Ownership({PartitionKind::variable, 4, 1}, 2, shape).parts() == 1);
}

TEST_CASE("indexes behind the end belong to the last part") {
  const std::vector<std::int64_t> shape{10, 3};
  const Ownership ownership({PartitionKind::range, 2, 1}, 0, shape);
  CHECK(ownership.owner_of(std::vector<std::int64_t>{9, 0}) == 1);
  CHECK(ownership.owner_of(std::vector<std::int64_t>{1000, 0}) == 1);
  const auto parts = divide(ownership, {{4, 0}, {100, 3}, {}});
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].first == 1);
  CHECK(parts[1].count == 99);
}
