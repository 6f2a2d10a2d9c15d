#include "sluice/formats/hyperslab.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "sluice/formats/status.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

using Numbers = std::vector<std::int64_t>;

int check(const Numbers& start, const Numbers& count, const Numbers& stride, const Numbers& shape,
          bool is_record, bool can_grow) {
  return check_selection({start, count, stride}, shape, is_record, can_grow);
}

}  // namespace

TEST_CASE("a hyperslab counts its elements and knows its ends") {
  const Hyperslab slab{{2, 0, 5}, {3, 4, 0}, {10, 1, 7}};
  CHECK(slab.view().elements() == 0);
  CHECK(slab.view().end_of(0) == 23);
  CHECK(slab.view().end_of(1) == 4);
  CHECK(slab.view().end_of(2) == 5);
  CHECK(HyperslabView{}.elements() == 1);
  const Hyperslab dense{{2}, {3}, {}};
  CHECK(dense.view().end_of(0) == 5);
  CHECK(dense.view().stride_of(0) == 1);
}

TEST_CASE("two progressions meet where a search finds that they meet") {
  std::mt19937_64 random(test::test_seed());
  const auto pick = [&random](std::int64_t least, std::int64_t largest) {
    return std::uniform_int_distribution<std::int64_t>(least, largest)(random);
  };
  for (int round = 0; round < 50000; ++round) {
    const auto a = pick(0, 30), an = pick(0, 12), as = pick(1, 9);
    const auto b = pick(0, 30), bn = pick(0, 12), bs = pick(1, 9);
    Numbers a_positions, b_positions;
    for (std::int64_t i = 0; i < an; ++i) {
      for (std::int64_t j = 0; j < bn; ++j) {
        if (a + i * as != b + j * bs) continue;
        a_positions.push_back(i);
        b_positions.push_back(j);
      }
    }
    const auto common = intersect(a, an, as, b, bn, bs);
    CAPTURE(round);
    REQUIRE(common.count == static_cast<std::int64_t>(a_positions.size()));
    for (std::int64_t k = 0; k < common.count; ++k) {
      REQUIRE(common.a_first + k * common.a_step == a_positions[static_cast<std::size_t>(k)]);
      REQUIRE(common.b_first + k * common.b_step == b_positions[static_cast<std::size_t>(k)]);
    }
  }
}

TEST_CASE("large strides and starts do not overflow") {
  constexpr std::int64_t big = 4'000'000'000'000'000'000;
  CHECK(intersect(0, 3, big / 2, 0, 2, big).count == 2);
  CHECK(intersect(big, 1, std::numeric_limits<std::int64_t>::max(), big - 1, 2, 1).count == 1);
  CHECK(intersect(0, 1'000'000'000, 4'000'000'007, 1, 1'000'000'000, 4'000'000'009).count == 0);
  // i * 4000000007 == 1 + j * 4000000009 has its first solution at i = 2000000004. That is beyond both ranges
  // above, and within these.
  const auto common = intersect(0, 2'200'000'000, 4'000'000'007, 1, 2'200'000'000, 4'000'000'009);
  CHECK(common.count == 1);
  CHECK(common.a_first == 2'000'000'004);
  CHECK(common.a_first * 4'000'000'007 == 1 + common.b_first * 4'000'000'009);
}

TEST_CASE("selections are checked start first, then counts and edges, then strides") {
  const Numbers shape{10, 5};
  CHECK(check({0, 0}, {10, 5}, {}, shape, false, false) == NC_NOERR);
  CHECK(check({0, 5}, {10, 1}, {}, shape, false, false) == NC_EINVALCOORDS);
  CHECK(check({10, 0}, {0, 5}, {}, shape, false, false) == NC_NOERR);
  CHECK(check({11, 0}, {0, 5}, {}, shape, false, false) == NC_EINVALCOORDS);
  CHECK(check({-1, 0}, {-1, 5}, {}, shape, false, false) == NC_EINVALCOORDS);
  CHECK(check({0, 0}, {-1, 6}, {0, 1}, shape, false, false) == NC_ENEGATIVECNT);
  CHECK(check({5, 0}, {6, 5}, {}, shape, false, false) == NC_EEDGE);
  CHECK(check({0, 0}, {5, 5}, {2, 1}, shape, false, false) == NC_NOERR);
  CHECK(check({1, 0}, {5, 5}, {2, 1}, shape, false, false) == NC_NOERR);
  CHECK(check({2, 0}, {5, 5}, {2, 1}, shape, false, false) == NC_EEDGE);
  CHECK(check({0, 0}, {5, 5}, {0, 1}, shape, false, false) == NC_ESTRIDE);
  CHECK(check({0, 0}, {2, 2}, {std::numeric_limits<std::int64_t>::max(), 1}, shape, false, false) ==
        NC_EEDGE);
}

TEST_CASE("puts of record variables may go beyond the records there are, gets may not") {
  CHECK(check({12, 0}, {3, 5}, {}, {10, 5}, true, true) == NC_NOERR);
  CHECK(check({12, 0}, {3, 6}, {}, {10, 5}, true, true) == NC_EEDGE);
  CHECK(check({-1, 0}, {3, 5}, {}, {10, 5}, true, true) == NC_EINVALCOORDS);
  CHECK(check({8, 0}, {3, 5}, {}, {10, 5}, true, false) == NC_EEDGE);
  CHECK(check({0, 0}, {1, 5}, {}, {0, 5}, true, false) == NC_EINVALCOORDS);
  CHECK(check({0, 0}, {0, 5}, {}, {0, 5}, true, false) == NC_NOERR);
}

TEST_CASE("a mapped buffer and a dense one are copied into each other") {
  // A column-major 2 x 3 array, as in Fortran.
  const Numbers count{2, 3}, imap{1, 2};
  const std::int32_t mapped[] = {11, 21, 12, 22, 13, 23};
  std::int32_t dense[6] = {}, back[6] = {};
  gather_mapped(mapped, count, imap, 4, dense);
  CHECK(std::vector<std::int32_t>(dense, dense + 6) == std::vector<std::int32_t>{11, 12, 13, 21, 22, 23});
  scatter_mapped(dense, count, imap, 4, back);
  CHECK(std::equal(mapped, mapped + 6, back));
}

TEST_CASE("mapped copies agree with nested loops for every element size") {
  const Numbers count{3, 2, 4}, imap{8, 30, 2};  // with gaps, in no order
  for (const std::size_t size : {1UL, 2UL, 4UL, 8UL}) {
    std::vector<std::byte> mapped(64 * size), dense(24 * size), back(64 * size);
    for (std::size_t i = 0; i < mapped.size(); ++i) mapped[i] = static_cast<std::byte>(i % 251);
    gather_mapped(mapped.data(), count, imap, size, dense.data());
    scatter_mapped(dense.data(), count, imap, size, back.data());
    std::size_t k = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 2; ++b) {
        for (std::size_t c = 0; c < 4; ++c, ++k) {
          const auto at = (a * 8 + b * 30 + c * 2) * size;
          for (std::size_t byte = 0; byte < size; ++byte) {
            REQUIRE(dense[k * size + byte] == mapped[at + byte]);
            REQUIRE(back[at + byte] == mapped[at + byte]);
          }
        }
      }
    }
  }
}

TEST_CASE("mapped copies of nothing and of a scalar") {
  std::int16_t source = 7, result = 0;
  gather_mapped(&source, Numbers{}, Numbers{}, 2, &result);
  CHECK(result == 7);
  gather_mapped(nullptr, Numbers{3, 0}, Numbers{1, 1}, 2, nullptr);
}
