#include "file_ranges.hpp"

#include <doctest/doctest.h>

#include <set>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {
constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
}  // namespace

TEST_SUITE("runtime.file_ranges") {
  TEST_CASE("small segments share a file and windows of it; each has its own bytes") {
    FileRanges ranges({create_segment});
    const auto first = ranges.cut(1, 4 * kib);
    const auto second = ranges.cut(2, 12 * kib);
    CHECK(first.file == second.file);
    CHECK(first.extent.file == second.extent.file);
    CHECK(second.extent.offset_bytes >= first.extent.offset_bytes + first.extent.bytes);
    const Mapping a = first.file->map(first.extent, Mapping::Access::read_write);
    const Mapping b = second.file->map(second.extent, Mapping::Access::read);
    CHECK(b.bytes().data() - a.bytes().data() ==
          static_cast<std::ptrdiff_t>(second.extent.offset_bytes - first.extent.offset_bytes));
    a.writable()[4 * kib - 1] = std::byte{7};
    CHECK(b.bytes().size() == 12 * kib);
    CHECK(b.bytes()[0] == std::byte{0});
    CHECK(b.writable().empty());
  }

  TEST_CASE("no segment that is smaller than a window crosses its border; larger ones begin at one") {
    FileRanges ranges({create_segment});
    std::uint64_t end = 0;
    for (const std::uint64_t bytes : {60 * mib, 8 * mib, 100 * mib, 4 * kib, window_bytes, 4 * kib}) {
      const auto range = ranges.cut(1, bytes);
      const std::uint64_t first = range.extent.offset_bytes;
      CHECK(first >= end);
      end = first + bytes;
      if (bytes < window_bytes) CHECK(first / window_bytes == (end - 1) / window_bytes);
      if (bytes >= window_bytes) CHECK(first % window_bytes == 0);
      CHECK(range.file->map(range.extent, Mapping::Access::read).bytes().size() == bytes);
    }
  }

  TEST_CASE("several files take turns; a full one is followed by another") {
    FileRanges ranges({.make = create_segment, .files = 3, .file_bytes = mib});
    std::set<std::uint64_t> numbers;
    for (std::uint64_t i = 1; i <= 12; ++i) numbers.insert(ranges.cut(i, 512 * kib).extent.file);
    CHECK(numbers == std::set<std::uint64_t>{1, 2, 3, 7, 8, 9});
    CHECK(ranges.cut(20, 2 * mib).extent.bytes == 2 * mib);
  }

  TEST_CASE("a range that could not be reserved is used for the next one") {
    bool is_full = true;
    FileRanges ranges(
        {.make = create_segment, .reserve = [&](const FileDescriptor&, std::uint64_t, std::uint64_t) {
           if (is_full) throw Error(NC_ENO_SPACE, "full");
         }});
    CHECK_THROWS_AS((void)ranges.cut(1, 4 * kib), Error);
    is_full = false;
    CHECK(ranges.cut(2, 4 * kib).extent.offset_bytes == 0);
  }
}
