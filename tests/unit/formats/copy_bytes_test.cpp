// Copies of odd sizes at all places, with pages without access around source and destination.
#include "sluice/formats/copy_bytes.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

using namespace sluice::formats;

namespace {

constexpr std::size_t page_bytes = 4096;

/// Memory between two pages without access.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes)
      : bytes_((bytes + page_bytes - 1) / page_bytes * page_bytes),
        mapped_(static_cast<std::byte*>(
            mmap(nullptr, bytes_ + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(static_cast<void*>(mapped_) != MAP_FAILED);
    REQUIRE(mprotect(mapped_ + page_bytes, bytes_, PROT_READ | PROT_WRITE) == 0);
  }
  ~GuardedMemory() { munmap(mapped_, bytes_ + 2 * page_bytes); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  [[nodiscard]] std::span<std::byte> all() const { return {mapped_ + page_bytes, bytes_}; }

 private:
  std::size_t bytes_;
  std::byte* mapped_;
};

void number(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
}

/// Calls copy(destination, source, bytes) with both at the beginning, in the middle and at the end of their
/// memory. Afterwards, the bytes are there, and those beside them are as before.
template <class Copy>
void check_copies(std::size_t bytes, Copy copy) {
  constexpr std::byte untouched{0xA5};
  constexpr std::size_t room = 200;
  const GuardedMemory from(bytes + room);
  const GuardedMemory to(bytes + room);
  number(from.all());
  const std::size_t last = from.all().size() - bytes;
  for (const std::size_t source : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{63}, last}) {
    for (const std::size_t destination :
         {std::size_t{0}, std::size_t{7}, std::size_t{32}, std::size_t{197}, last}) {
      CAPTURE(bytes);
      CAPTURE(source);
      CAPTURE(destination);
      std::ranges::fill(to.all(), untouched);
      copy(to.all().data() + destination, from.all().data() + source, bytes);
      const auto copied = to.all().subspan(destination, bytes);
      CHECK(std::ranges::equal(copied, from.all().subspan(source, bytes)));
      const auto is_untouched = [](std::byte byte) { return byte == untouched; };
      CHECK(std::ranges::all_of(to.all().first(destination), is_untouched));
      CHECK(std::ranges::all_of(to.all().subspan(destination + bytes), is_untouched));
    }
  }
}

const std::vector<std::size_t> odd_sizes{
    0,     1,     63,    127,   255,   1023,  1024,   1025,    1151,          1279,          4099,
    16383, 16384, 16385, 32767, 32769, 65537, 200001, 1 << 20, (1 << 20) + 3, (2 << 20) - 1, (2 << 20) + 77};

}  // namespace

TEST_CASE("each way copies any size to and from any place, and nothing beside it") {
  for (const CopyWay way :
       {CopyWay::library, CopyWay::vectors, CopyWay::backwards, CopyWay::string, CopyWay::streaming}) {
    if (!can_copy_by(way)) continue;
    CAPTURE(static_cast<int>(way));
    for (const std::size_t bytes : odd_sizes) {
      check_copies(bytes, [&](void* to, const void* from, std::size_t n) { copy_by(way, to, from, n); });
    }
  }
}

TEST_CASE("copies stay right while the ways take turns and afterwards") {
  for (const std::size_t bytes : odd_sizes) {
    check_copies(bytes, [](void* to, const void* from, std::size_t n) {
      for (int i = 0; i < (n < 100000 ? 60 : 3); ++i) copy_bytes(to, from, n);
    });
  }
  check_copies((4 << 20) + 4321, copy_bytes);  // 25 places: past the caches, and by them
  check_copies((16 << 20) + 4321, copy_bytes);
}

TEST_CASE("pieces of large data are right, whatever is fetched ahead") {
  for (const std::size_t bytes : odd_sizes) {
    check_copies(bytes, [](void* to, const void* from, std::size_t n) {
      for (int i = 0; i < (n < 100000 ? 60 : 3); ++i) {
        copy_piece(to, from, n, static_cast<const std::byte*>(from) + n);  // behind its end
        copy_piece(to, from, n, nullptr);
      }
    });
  }
  check_copies((2 << 20) + 4321, [](void* to, const void* from, std::size_t n) {
    copy_piece(to, from, n, static_cast<const std::byte*>(from) + n);
  });
}

TEST_CASE("a copy of bytes to themselves changes nothing") {
  for (const std::size_t bytes : odd_sizes) {
    std::vector<std::byte> memory(bytes);
    number(memory);
    const std::vector<std::byte> before = memory;
    for (const CopyWay way : {CopyWay::vectors, CopyWay::backwards, CopyWay::string, CopyWay::streaming}) {
      if (can_copy_by(way)) copy_by(way, memory.data(), memory.data(), bytes);
    }
    for (int i = 0; i < 30; ++i) copy_bytes(memory.data(), memory.data(), bytes);
    for (int i = 0; i < 40; ++i) copy_piece(memory.data(), memory.data(), bytes, memory.data());
    CHECK(memory == before);
  }
}

TEST_CASE("threads copy at the same time") {
  constexpr std::size_t bytes = 40001;
  std::vector<std::byte> source(bytes);
  number(source);
  std::vector<std::vector<std::byte>> results(4, std::vector<std::byte>(bytes));
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) copy_bytes(result.data(), source.data(), bytes);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result == source);
}
