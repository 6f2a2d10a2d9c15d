#include "sluice/runtime/log_range_map.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/log_range.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

/// Two segments of 4096 bytes, named 1 and 2.
struct World {
  World() {
    for (const std::uint64_t segment : {1U, 2U}) segments.add({segment, 4096, true}, create_segment(4096));
  }
  void add(const LogRange& range) { logs.add(std::span(&range, 1)); }

  SegmentCache segments;
  LogRangeMap logs{segments};
};

}  // namespace

TEST_CASE("threads read one step side by side, and ranges are added meanwhile") {
  World world;
  world.add({0, 0, 64, 1, 0});
  LogRangeMap::Reader first(world.logs);
  CHECK(first.at(0, 0).size() == 64);
  std::thread other([&] {
    world.add({0, 64, 64, 2, 0});
    LogRangeMap::Reader second(world.logs);
    CHECK(second.at(0, 0).size() == 64);
    CHECK(second.at(0, 100).size() == 28);
  });
  other.join();
  CHECK(first.at(0, 63).size() == 1);
  CHECK_FALSE(first.holds(0, 0, 128));
  CHECK(LogRangeMap::Reader(world.logs).holds(0, 0, 128));
}

TEST_CASE("a range that a reader has found stays valid when the range is announced again") {
  World world;
  world.add({0, 0, 64, 1, 0});
  LogRangeMap::Reader reader(world.logs);
  const auto found = reader.at(0, 0);
  world.add({0, 0, 32, 2, 0});
  world.segments.drop(std::vector<std::uint64_t>{1, 2});
  CHECK(found.size() == 64);
  CHECK(found[63] == std::byte{});
  CHECK(LogRangeMap::Reader(world.logs).at(0, 0).size() == 32);
}

TEST_CASE("a range that was not announced is an error that names it") {
  World world;
  world.add({3, 100, 50, 1, 0});
  LogRangeMap::Reader reader(world.logs);
  for (const std::uint64_t offset : {99U, 150U, 4096U}) {
    std::string text;
    try {
      (void)reader.at(3, offset);
    } catch (const Error& error) {
      text = error.what();
    }
    CHECK(text.find("byte " + std::to_string(offset) + " of the write log of writer 3") != std::string::npos);
  }
  CHECK_THROWS_AS((void)reader.at(0, 100), Error);
  CHECK(reader.at(3, 149).size() == 1);
}

TEST_CASE("of ranges that overlap the later one holds") {
  const std::vector<LogRange> ranges{{0, 10, 20, 1, 0}, {0, 20, 5, 1, 100}, {0, 40, 5, 1, 200}};
  const auto at = [&](std::uint64_t offset) {
    return matcher::range_at(std::span<const LogRange>(ranges), offset);
  };
  CHECK(at(9).range == nullptr);
  CHECK(at(10).range == &ranges[0]);
  CHECK(at(10).length_bytes == 10);
  CHECK(at(20).range == &ranges[1]);
  CHECK(at(24).range == &ranges[1]);
  CHECK(at(25).range == nullptr);
  CHECK(at(44).range == &ranges[2]);
  CHECK(at(45).range == nullptr);
  CHECK(matcher::range_at(std::span<const LogRange>(), 0).range == nullptr);
}
