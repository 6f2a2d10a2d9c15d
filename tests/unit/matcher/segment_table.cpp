// What is known of the segments of a node.
#include "sluice/matcher/segment_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::matcher;
using Mark = SegmentTable::Mark;

namespace {

constexpr std::uint32_t node = 3;
constexpr std::array all_marks{Mark::trimmed, Mark::free,  Mark::tainted,
                               Mark::unmade,  Mark::image, Mark::landed};

/// The same, as plain as it can be.
struct Plain {
  std::uint64_t bytes = 0;
  std::uint64_t touched_bytes = 0;
  std::set<Mark> marks;
  std::set<ProcessId> mapped_by;
};

void compare(SegmentTable& table, const std::map<SegmentId, Plain>& plain) {
  std::size_t visited = 0;
  table.for_each([&](SegmentId id, const SegmentTable::Segment& segment) {
    ++visited;
    CHECK(segment.bytes() == plain.at(id).bytes);
  });
  CHECK(visited == plain.size());
  for (const auto& [id, known] : plain) {
    const SegmentTable::Segment segment = table.at(id);
    CHECK(segment.touched_bytes() == known.touched_bytes);
    for (const Mark mark : all_marks) CHECK(segment.is(mark) == known.marks.contains(mark));
    for (std::uint64_t process = 0; process < 5; ++process)
      CHECK(segment.is_mapped_by(ProcessId{process}) == known.mapped_by.contains(ProcessId{process}));
    CHECK_FALSE(table.contains(id ^ spilled_bit));
    CHECK_FALSE(table.contains(id ^ segment_id({1, 0}, 0)));
    CHECK_FALSE(table.contains(id ^ segment_id({0, 1}, 0)));
  }
}

}  // namespace

TEST_SUITE("matcher.segment_table") {
  TEST_CASE("it knows of each segment what was said of it") {
    std::mt19937 random(static_cast<std::mt19937::result_type>(test::test_seed()));
    const auto below = [&](std::uint64_t end) { return random() % end; };
    SegmentTable table(node);
    std::map<SegmentId, Plain> plain;
    std::uint64_t next_number = 1;
    for (int i = 0; i < 4000; ++i) {
      if (plain.empty() || below(4) == 0) {
        const std::uint32_t index = below(2) == 0 ? max_matchers_of_a_node - 1 : 0;
        next_number += below(20) == 0 ? below(300) : 0;
        const SegmentId id =
            segment_id({node, index}, next_number++) | (below(3) == 0 ? spilled_bit : SegmentId{0});
        const std::uint64_t bytes = below(1U << 30U);
        CHECK(table.add(id, bytes).bytes() == bytes);
        plain[id].bytes = bytes;
        continue;
      }
      const auto one = std::next(plain.begin(), static_cast<std::ptrdiff_t>(below(plain.size())));
      SegmentTable::Segment segment = table.at(one->first);
      Plain& known = one->second;
      const ProcessId process{below(5)};
      const Mark mark = all_marks[below(all_marks.size())];
      switch (below(6)) {
        case 0:
          segment.set(mark, true);
          known.marks.insert(mark);
          break;
        case 1:
          segment.set(mark, false);
          known.marks.erase(mark);
          break;
        case 2:
          segment.note_mapped(process);
          if (process != ProcessId{}) known.mapped_by.insert(process);
          break;
        case 3:
          CHECK(segment.forget(process) == (known.mapped_by.erase(process) != 0));
          break;
        case 4:
          known.touched_bytes = below(1000);
          segment.set_touched_bytes(known.touched_bytes);
          break;
        default:
          table.erase(one->first);
          plain.erase(one);
      }
      if (i % 100 == 0) compare(table, plain);
    }
    compare(table, plain);
    CHECK_THROWS_AS((void)table.at(segment_id({node, 0}, next_number)), std::out_of_range);
  }

  TEST_CASE("a column has what was set last, whether its numbers are regular or not") {
    std::mt19937 random(static_cast<std::mt19937::result_type>(test::test_seed()));
    for (int run = 0; run < 2000; ++run) {
      NumberColumn column;
      std::array<std::uint64_t, NumberColumn::size> plain{};
      const std::uint64_t first = random();
      const std::uint64_t distance = random() % 3 == 0 ? random() : random() % 3 - 1;
      const std::size_t changes = random() % 200;
      for (std::size_t i = 0; i < changes; ++i) {
        const std::size_t place = random() % plain.size();
        std::uint64_t number = random() % 5 == 0 ? 0 : first + place * distance;
        if (random() % 10 == 0) number = random() % 3;
        column.set(place, number);
        plain.at(place) = number;
        for (std::size_t other = 0; other < plain.size(); ++other)
          REQUIRE(column.at(other) == plain.at(other));
      }
    }
  }

  TEST_CASE("two rows of numbers at equal distances take no room, and neither do changes to 0 and back") {
    std::mt19937 random(static_cast<std::mt19937::result_type>(test::test_seed()));
    for (int run = 0; run < 500; ++run) {
      NumberColumn column;
      const std::size_t end = random() % (NumberColumn::size + 1);  // of the first row
      const std::array<std::uint64_t, 2> firsts{random() + 1U, random() + 1U};
      const std::array<std::uint64_t, 2> distances{random() % 4, random() % 4 - 2};
      const auto number_at = [&](std::size_t place) {
        const std::size_t row = place < end ? 0 : 1;
        return firsts.at(row) + (std::uint64_t{1} << 40U) + place * distances.at(row);
      };
      for (std::size_t place = 0; place < NumberColumn::size; ++place) column.set(place, number_at(place));
      for (int i = 0; i < 20; ++i) {
        const std::size_t place = random() % NumberColumn::size;
        column.set(place, 0);
        CHECK(column.at(place) == 0);
        column.set(place, number_at(place));
      }
      for (std::size_t place = 0; place < NumberColumn::size; ++place)
        CHECK(column.at(place) == number_at(place));
      CHECK(column.is_regular());
    }
  }
}
