#include "sluice/matcher/write_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"
#include "support/dense_reference.hpp"
#include "support/seed.hpp"

using namespace sluice;
using matcher::Match;
using matcher::Piece;
using matcher::WriteIndex;
using matcher::WriteRequest;
using test::HyperslabGenerator;

namespace {

constexpr std::size_t element_bytes = 4;

/// The origin of an element of the variable: a request, and the element's number in it.
struct Origin {
  int request = -1;
  std::int64_t position = 0;
  bool operator==(const Origin&) const = default;
};

/// An index, and a dense array that must agree with it.
class Fixture {
 public:
  explicit Fixture(std::vector<std::int64_t> shape)
      : index_(static_cast<int>(shape.size()), element_bytes),
        shape_(std::move(shape)),
        variable_(static_cast<std::size_t>(test::elements_of(shape_))),
        sequences_(variable_.size(), 0),
        writers_(variable_.size(), 0),
        put_(variable_.size(), false) {}

  void write(const formats::Hyperslab& box, std::uint64_t sequence, bool is_fill = false) {
    const int request = static_cast<int>(offsets_.size());
    index_.add({.writer = static_cast<std::uint32_t>(request % 7),
                .sequence = sequence,
                .log_offset = next_offset_,
                .is_fill = is_fill,
                .box = box.view()});
    test::for_each_element(box.view(), [&](const std::vector<std::int64_t>& index, std::int64_t position) {
      const std::size_t at = test::position_of(shape_, index);
      writers_[at] |= 1U << (request % 7);
      if (!is_fill) put_[at] = true;
      if (sequence < sequences_[at]) return;
      sequences_[at] = sequence;
      variable_[at] = {request, position};
    });
    offsets_.push_back(next_offset_);
    next_offset_ += 8 + element_bytes * static_cast<std::uint64_t>(test::elements_of(box.count));
  }

  /// Returns whether the index reports the read as covered.
  bool check_read(const formats::Hyperslab& box) {
    std::vector<Piece> pieces;
    const Match match = index_.match(box.view(), pieces);
    const bool is_covered = match.is_covered;
    std::vector<Origin> expected;
    bool is_put = true;
    test::for_each_element(box.view(), [&](const std::vector<std::int64_t>& index, std::int64_t) {
      is_put = is_put && put_[test::position_of(shape_, index)];
      expected.push_back(variable_[test::position_of(shape_, index)]);
      if (std::popcount(writers_[test::position_of(shape_, index)]) > 1) CHECK(match.depends_on_clock);
    });
    CHECK(index_.is_put(box.view()) == is_put);
    const std::vector<Origin> painted = paint(box, pieces, expected.size());
    CHECK(painted == expected);
    const bool is_complete = std::ranges::find(painted, -1, &Origin::request) == painted.end();
    if (is_covered) CHECK(is_complete);
    if (is_complete && painted_ == painted.size()) CHECK(is_covered);
    return is_covered;
  }

 private:
  /// The origin of each element of a read, when the pieces are copied one after another.
  std::vector<Origin> paint(const formats::Hyperslab& read, const std::vector<Piece>& pieces,
                            std::size_t elements) {
    std::vector<Origin> painted(elements);
    painted_ = 0;
    std::uint64_t sequence = 0;
    for (const Piece& piece : pieces) {
      CHECK(piece.sequence >= sequence);
      sequence = piece.sequence;
      const int request =
          static_cast<int>(std::ranges::lower_bound(offsets_, piece.log_offset) - offsets_.begin());
      CHECK(piece.writer == static_cast<std::uint32_t>(request % 7));
      REQUIRE(piece.ranges.size() == shape_.size());
      formats::Hyperslab ranges;  // its elements, counted
      for (const formats::CommonRange& range : piece.ranges) {
        CHECK(range.count > 0);
        ranges.start.push_back(0);
        ranges.count.push_back(range.count);
      }
      test::for_each_element(ranges.view(), [&](const std::vector<std::int64_t>& k, std::int64_t) {
        std::int64_t in_read = 0;
        std::int64_t in_write = 0;
        for (std::size_t d = 0; d < k.size(); ++d) {
          in_read = in_read * read.count[d] + piece.ranges[d].a_first + k[d] * piece.ranges[d].a_step;
          in_write =
              in_write * piece.write_count[d] + piece.ranges[d].b_first + k[d] * piece.ranges[d].b_step;
        }
        painted.at(static_cast<std::size_t>(in_read)) = {request, in_write};
        ++painted_;
      });
    }
    return painted;
  }

  WriteIndex index_;
  std::vector<std::int64_t> shape_;
  std::vector<Origin> variable_;
  std::vector<std::uint64_t> sequences_;
  std::vector<unsigned> writers_;  ///< for each element, a bit for each of its writers
  std::vector<bool> put_;          ///< whether a request that is not a fill wrote the element
  std::vector<std::uint64_t> offsets_;
  std::uint64_t next_offset_ = 0;
  std::size_t painted_ = 0;  ///< elements; those painted twice count twice
};

}  // namespace

TEST_CASE("random writes and reads agree with a dense array") {
  HyperslabGenerator random(test::test_seed());
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::int64_t> shape =
        random.shape(static_cast<std::size_t>(random.between(0, 5)), 2000);
    CAPTURE(round);
    Fixture fixture(shape);
    const std::int64_t writes = random.between(0, random.chance(20) ? 300 : 30);
    const bool is_growing = random.chance(30);
    for (std::int64_t i = 0; i < writes; ++i) {
      // Sequences are out of order, as from several processes. Some are equal, as in a varn list.
      fixture.write(random.hyperslab(shape), static_cast<std::uint64_t>(random.between(0, 40)),
                    random.chance(10));
      if (is_growing && random.chance(10)) fixture.check_read(random.hyperslab(shape));
    }
    for (int i = 0; i < 20; ++i) fixture.check_read(random.hyperslab(shape));
  }
}

TEST_CASE("overlapping strided puts count as put, and fills do not") {
  Fixture fixture({40, 6});
  fixture.write({{0, 0}, {20, 6}, {2, 1}}, 1);
  fixture.write({{0, 0}, {20, 6}, {2, 1}}, 2);
  const formats::Hyperslab whole{{0, 0}, {40, 6}, {}};
  fixture.check_read(whole);
  fixture.write(whole, 3, true);
  fixture.check_read(whole);
  fixture.write({{1, 0}, {20, 6}, {2, 1}}, 4);
  fixture.check_read(whole);
  fixture.write(whole, 5, true);
  fixture.check_read(whole);
}

TEST_CASE("single elements in any order are found, and their coverage is exact") {
  const std::uint64_t seed = test::test_seed();
  HyperslabGenerator random(seed);
  std::mt19937_64 shuffler(seed);
  for (std::size_t dimensions = 1; dimensions <= 4; ++dimensions) {
    const std::vector<std::int64_t> shape = random.shape(dimensions, 3000);
    Fixture fixture(shape);
    std::vector<std::vector<std::int64_t>> elements;
    const formats::Hyperslab whole{std::vector<std::int64_t>(dimensions, 0), shape, {}};
    test::for_each_element(whole.view(), [&](const auto& index, std::int64_t) { elements.push_back(index); });
    std::ranges::shuffle(elements, shuffler);
    const std::vector<std::int64_t> ones(dimensions, 1);
    for (const auto& index : elements) {
      CHECK_FALSE(fixture.check_read(whole));
      if (elements.size() > 100 && random.chance(99)) break;
      fixture.write({index, ones, {}}, 1);
    }
    for (const auto& index : elements) fixture.write({index, ones, {}}, 2);
    CHECK(fixture.check_read(whole));
    for (const auto& index : elements) CHECK(fixture.check_read({index, ones, {}}));
    for (int i = 0; i < 100; ++i) CHECK(fixture.check_read(random.hyperslab(shape)));
  }
}

TEST_CASE("reads in the order of the writes, and ever so little out of it, agree with a dense array") {
  const std::uint64_t seed = test::test_seed();
  HyperslabGenerator random(seed);
  std::mt19937_64 engine(seed);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::vector<std::int64_t> shape{random.between(1, 3), random.between(1, 6), random.between(1, 12)};
    std::vector<formats::Hyperslab> runs;  // runs of rows, cut anywhere
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        for (std::int64_t k = 0; k < shape[2];) {
          const std::int64_t count = std::min(random.between(1, 3), shape[2] - k);
          runs.push_back({{i, j, k}, {1, 1, count}, {}});
          k += count;
        }
      }
    }
    if (random.chance(70)) std::ranges::shuffle(runs, engine);
    Fixture fixture(shape);
    std::uint64_t sequence = 1;
    for (const formats::Hyperslab& run : runs) fixture.write(run, sequence++, random.chance(5));
    if (random.chance(20)) fixture.write(random.hyperslab(shape), sequence++);
    for (int pass = 0; pass < 2; ++pass) {
      for (formats::Hyperslab read : runs) {
        if (random.chance(5)) continue;
        if (random.chance(5)) fixture.check_read(random.hyperslab(shape));
        if (random.chance(5)) read.count[2] = std::max<std::int64_t>(read.count[2] - 1, 1);
        if (random.chance(5)) read.count[1] = std::min<std::int64_t>(2, shape[1] - read.start[1]);
        fixture.check_read(read);
      }
      fixture.write(random.hyperslab(shape), sequence++);  // enough requests for several levels
    }
  }
}

TEST_CASE("a block decomposition covers any read, without and with halos") {
  for (const std::int64_t halo : {0, 1}) {
    Fixture fixture({4, 30, 30});
    const auto first = [&](std::int64_t i) { return std::max<std::int64_t>(i - halo, 0); };
    const auto length = [&](std::int64_t i) { return std::min<std::int64_t>(i + 10 + halo, 30) - first(i); };
    for (std::int64_t y = 0; y < 30; y += 10) {
      for (std::int64_t x = 0; x < 30; x += 10) {
        fixture.write({{0, first(y), first(x)}, {4, length(y), length(x)}, {}},
                      static_cast<std::uint64_t>(y * 30 + x));
      }
    }
    CHECK(fixture.check_read({{0, 0, 0}, {4, 30, 30}, {}}));
    CHECK(fixture.check_read({{1, 5, 5}, {2, 20, 20}, {}}));
    CHECK(fixture.check_read({{0, 0, 0}, {2, 10, 10}, {2, 3, 3}}));
  }
}

TEST_CASE("a hole is never called covered") {
  HyperslabGenerator random(test::test_seed());
  for (int round = 0; round < 200; ++round) {
    // All but one element of a 12 x 12 array, in overlapping boxes around it.
    Fixture fixture({12, 12});
    const std::int64_t y = random.between(0, 11);
    const std::int64_t x = random.between(0, 11);
    if (y > 0) fixture.write({{0, 0}, {y, 12}, {}}, 1);
    if (y < 11) fixture.write({{y + 1, 0}, {11 - y, 12}, {}}, 2);
    if (x > 0) fixture.write({{0, 0}, {12, x}, {}}, 3);
    if (x < 11) fixture.write({{0, x + 1}, {12, 11 - x}, {}}, 4);
    CHECK_FALSE(fixture.check_read({{0, 0}, {12, 12}, {}}));
    CHECK_FALSE(fixture.check_read({{y, x}, {1, 1}, {}}));
    fixture.write({{y, x}, {1, 1}, {}}, 0);
    CHECK(fixture.check_read({{0, 0}, {12, 12}, {}}));
  }
}

TEST_CASE("cyclic decompositions meet in exact progressions") {
  for (std::int64_t writers = 1; writers <= 5; ++writers) {
    for (std::int64_t readers = 1; readers <= 5; ++readers) {
      Fixture fixture({7, 60});
      for (std::int64_t w = 0; w < writers; ++w) {
        fixture.write({{0, w}, {7, (60 - w - 1) / writers + 1}, {1, writers}}, 1);
      }
      for (std::int64_t r = 0; r < readers; ++r) {
        CHECK(fixture.check_read({{0, r}, {7, (60 - r - 1) / readers + 1}, {1, readers}}));
      }
    }
  }
}

TEST_CASE("a write that is hidden by a later one makes no piece") {
  WriteIndex index(1, element_bytes);
  const formats::Hyperslab box{{0}, {100}, {}};
  for (std::uint64_t i = 0; i < 10; ++i)
    index.add({.writer = 0, .sequence = 5, .log_offset = 400 * i, .box = box.view()});
  std::vector<Piece> pieces;
  CHECK(index.match(formats::Hyperslab{{10}, {20}, {}}.view(), pieces).is_covered);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].log_offset == 3600);
}

TEST_CASE("records can be added without end") {
  Fixture fixture({200, 6});
  for (std::int64_t record = 0; record < 200; ++record) {
    fixture.write({{record, 0}, {1, 3}, {}}, static_cast<std::uint64_t>(record));
    fixture.write({{record, 3}, {1, 3}, {}}, static_cast<std::uint64_t>(record));
    CHECK(fixture.check_read({{0, 1}, {record + 1, 4}, {}}));
    if (record < 199) CHECK_FALSE(fixture.check_read({{record, 0}, {2, 6}, {}}));
  }
}

TEST_CASE("a scalar is read, and an unwritten one is not covered") {
  WriteIndex index(0, element_bytes);
  std::vector<Piece> pieces;
  CHECK_FALSE(index.match({}, pieces).is_covered);
  index.add({.writer = 3, .sequence = 2, .log_offset = 64, .box = {}});
  index.add({.writer = 4, .sequence = 1, .log_offset = 0, .box = {}});
  CHECK(index.match({}, pieces).is_covered);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].writer == 3);
}

TEST_CASE("empty requests are ignored and empty reads are covered") {
  WriteIndex index(2, element_bytes);
  index.add({.box = formats::Hyperslab{{0, 0}, {0, 5}, {}}.view()});
  CHECK(index.size() == 0);
  std::vector<Piece> pieces;
  CHECK(index.match(formats::Hyperslab{{0, 0}, {5, 0}, {}}.view(), pieces).is_covered);
  CHECK_FALSE(index.match(formats::Hyperslab{{0, 0}, {1, 1}, {}}.view(), pieces).is_covered);
  CHECK(pieces.empty());
}

TEST_CASE("requests and reads out of range are refused, enormous ones are matched") {
  WriteIndex index(2, element_bytes);
  std::vector<Piece> pieces;
  const auto refuses = [&](const formats::Hyperslab& box) {
    CHECK_THROWS_AS(index.add({.box = box.view()}), Error);
    CHECK_THROWS_AS(index.match(box.view(), pieces), Error);
  };
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  refuses({{0}, {1}, {}});
  refuses({{-1, 0}, {1, 1}, {}});
  refuses({{0, 0}, {1, -1}, {}});
  refuses({{0, 0}, {1, 1}, {1, 0}});
  refuses({{0, most}, {1, 1}, {}});
  refuses({{0, 5}, {1, most}, {}});
  refuses({{0, 0}, {1, 3}, {1, most / 2}});
  CHECK_THROWS_AS(
      index.add({.log_offset = ~std::uint64_t{0}, .box = formats::Hyperslab{{0, 0}, {1, 1}, {}}.view()}),
      Error);

  // Too large for row-major numbers.
  const std::int64_t far = matcher::index_limit - 10;
  index.add({.writer = 1, .box = formats::Hyperslab{{far, far}, {2, 2}, {}}.view()});
  index.add({.writer = 2, .box = formats::Hyperslab{{3, 4}, {1, 1}, {}}.view()});
  index.add({.writer = 3, .box = formats::Hyperslab{{0, 5}, {2, 2}, {far, far}}.view()});
  CHECK(index.match(formats::Hyperslab{{3, 4}, {1, 1}, {}}.view(), pieces).is_covered);
  CHECK(index.match(formats::Hyperslab{{far, far + 1}, {1, 1}, {}}.view(), pieces).is_covered);
  CHECK(index.match(formats::Hyperslab{{0, 5}, {2, 2}, {far, far}}.view(), pieces).is_covered);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].writer == 2);
  CHECK(pieces[1].writer == 1);
  CHECK(pieces[2].writer == 3);
}

TEST_CASE("a read depends on the clock where different writers may have written the same elements") {
  WriteIndex index(1, element_bytes);
  const auto write = [&](std::uint32_t writer, std::int64_t start, std::int64_t count) {
    index.add(
        {.writer = writer, .sequence = index.size(), .box = formats::Hyperslab{{start}, {count}, {}}.view()});
  };
  const auto depends = [&](std::int64_t start, std::int64_t count) {
    std::vector<Piece> pieces;
    return index.match(formats::Hyperslab{{start}, {count}, {}}.view(), pieces).depends_on_clock;
  };
  for (std::uint32_t writer = 0; writer < 4; ++writer) write(writer, 10 * writer, 10);
  CHECK_FALSE(depends(5, 30));
  CHECK_FALSE(depends(5, 60));  // partly unwritten
  write(3, 32, 4);              // again, by the same writer
  CHECK_FALSE(depends(0, 40));
  write(2, 38, 4);
  CHECK_FALSE(depends(0, 30));
  CHECK(depends(30, 10));
  CHECK(depends(0, 60));
  write(0, 0, 40);  // hides all others
  CHECK(depends(0, 40));
  CHECK(depends(25, 2));
}
