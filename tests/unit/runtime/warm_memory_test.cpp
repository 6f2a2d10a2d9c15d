#include "warm_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "sluice/runtime/segment.hpp"

using namespace sluice::runtime;

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

bool has_only(const Mapping& mapping, std::byte value) {
  return std::ranges::all_of(mapping.bytes(), [&](std::byte byte) { return byte == value; });
}

}  // namespace

TEST_CASE("warm memory is cut from the beginning, zeroed, and no byte twice") {
  WarmMemory memory(create_segment(4 * mib), 4 * mib);
  memory.wait();
  std::uint64_t next = 0;
  for (const std::uint64_t bytes : {64 * kib, mib, 128 * kib, 2 * mib}) {
    const auto range = memory.cut(bytes);
    REQUIRE(range);
    CHECK(range->is_warm);
    CHECK(range->extent.bytes == bytes);
    CHECK(range->extent.offset_bytes == next);
    next += bytes;
    const Mapping mapping(*memory.file(), range->extent, Mapping::Access::read_write);
    CHECK(has_only(mapping, std::byte{0}));
  }
  CHECK(memory.used_bytes() == next);
  CHECK_FALSE(memory.cut(mib));
  const auto last = memory.cut(4 * mib - next);
  REQUIRE(last);
  CHECK_FALSE(memory.cut(64 * kib));
}

TEST_CASE("memory that is cut while it is being made keeps its contents") {
  for (int round = 0; round < 20; ++round) {
    constexpr std::uint64_t bytes = 256 * kib;
    WarmMemory memory(create_segment(8 * mib), 8 * mib);
    std::vector<Mapping> mappings;
    for (;;) {
      const auto range = memory.cut(bytes);
      if (!range) break;
      Mapping& mapping = mappings.emplace_back(*memory.file(), range->extent, Mapping::Access::read_write);
      CHECK(has_only(mapping, std::byte{0}));
      std::ranges::fill(mapping.writable(), static_cast<std::byte>(mappings.size()));
    }
    memory.wait();
    CHECK(mappings.size() == 8 * mib / bytes);
    for (std::size_t i = 0; i < mappings.size(); ++i)
      CHECK(has_only(mappings[i], static_cast<std::byte>(i + 1)));
  }
}

TEST_CASE("a segment that is larger than what is warm takes what is warm, and the thread goes on behind it") {
  for (int round = 0; round < 10; ++round) {
    WarmMemory memory(create_segment(32 * mib), 32 * mib);
    while (memory.warm_bytes() < 12 * mib) std::this_thread::yield();
    const auto range = memory.cut(24 * mib);
    REQUIRE(range);
    CHECK(range->extent.offset_bytes == 0);
    CHECK(memory.used_bytes() >= 12 * mib);
    Mapping mapping(*memory.file(), range->extent, Mapping::Access::read_write);
    std::memset(mapping.writable().data(), 7, 24 * mib);
    memory.wait();
    CHECK(memory.warm_bytes() == 8 * mib);
    CHECK(std::ranges::count(mapping.bytes().subspan(11 * mib), std::byte{7}) == 13 * mib);
  }
}

TEST_CASE("dropped memory has no user, and memory cut before stays unchanged") {
  WarmMemory memory(create_segment(8 * mib), 8 * mib);
  const auto range = memory.cut(mib);
  REQUIRE(range);
  const Mapping mapping(*memory.file(), range->extent, Mapping::Access::read_write);
  std::ranges::fill(mapping.writable(), std::byte{7});
  memory.drop();
  CHECK_FALSE(memory.cut(64 * kib));
  CHECK(has_only(mapping, std::byte{7}));
  memory.drop();
}
