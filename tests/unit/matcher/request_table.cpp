#include "sluice/matcher/request_table.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"
#include "support/seed.hpp"

using namespace sluice;
using matcher::EntryKind;
using matcher::TableEntry;
using matcher::TableReader;
using matcher::TableWriter;

namespace {

/// A chunk in this process's memory.
struct Chunk {
  explicit Chunk(std::size_t words) : memory(words) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(memory)); }
  std::vector<std::uint64_t> memory;
};

TableEntry request(int varid, const formats::Hyperslab& box, std::uint64_t sequence = 0,
                   std::uint64_t log_offset = 0) {
  TableEntry entry;
  entry.varid = varid;
  entry.sequence = sequence;
  entry.log_offset = log_offset;
  entry.box = box.view();
  return entry;
}

formats::Hyperslab copy_of(const formats::HyperslabView& box) {
  return {{box.start.begin(), box.start.end()},
          {box.count.begin(), box.count.end()},
          {box.stride.begin(), box.stride.end()}};
}

/// The first word of an entry for that many dimensions.
std::uint64_t head(std::uint64_t kind, std::uint64_t flags, std::uint64_t dimensions, std::uint64_t varid) {
  return kind | flags << 8 | dimensions << 16 | varid << 32;
}

/// Reads entries from words as if they were committed.
void read_all(std::vector<std::uint64_t> words) {
  words.insert(words.begin(), words.size() * 8);
  TableReader reader(std::as_bytes(std::span(words)), 0);
  TableEntry entry;
  while (reader.next(entry)) {
  }
}

constexpr std::uint64_t huge = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("entries come back as they were appended") {
  Chunk chunk(64);
  TableWriter writer(chunk.bytes());
  const formats::Hyperslab plain{{2, 0}, {1, 3}, {}};
  const formats::Hyperslab strided{{4, 5, 6}, {2, 1, 7}, {3, 1, 9}};
  const formats::Hyperslab single{{7, 4}, {1, 1}, {5, 5}};
  const formats::Hyperslab scalar{};
  TableEntry segment;
  segment.kind = EntryKind::segment;
  segment.log_offset = 128;
  segment.length_bytes = 4096;
  segment.segment_id = 9;
  segment.segment_offset = 64;
  CHECK(writer.append(segment));
  CHECK(writer.append(request(1, plain, 5000, 128)));
  CHECK(writer.append(request(2, strided, 6000, 144)));
  CHECK(writer.append(request(3, single, 7000, 152)));
  TableEntry fill = request(4, scalar, 8000);
  fill.kind = EntryKind::fill;
  CHECK(writer.append(fill));
  writer.commit();

  TableReader reader(chunk.bytes(), 0);
  TableEntry entry;
  REQUIRE(reader.next(entry));
  CHECK(entry.kind == EntryKind::segment);
  CHECK(entry.log_offset == 128);
  CHECK(entry.length_bytes == 4096);
  CHECK(entry.segment_id == 9);
  CHECK(entry.segment_offset == 64);
  REQUIRE(reader.next(entry));
  CHECK(entry.kind == EntryKind::request);
  CHECK(entry.varid == 1);
  CHECK(entry.sequence == 5000);
  CHECK(entry.log_offset == 128);
  CHECK(copy_of(entry.box).start == plain.start);
  CHECK(copy_of(entry.box).count == plain.count);
  CHECK(entry.box.stride.empty());
  REQUIRE(reader.next(entry));
  CHECK(copy_of(entry.box).start == strided.start);
  CHECK(copy_of(entry.box).count == strided.count);
  CHECK(copy_of(entry.box).stride == strided.stride);
  REQUIRE(reader.next(entry));
  CHECK(copy_of(entry.box).start == single.start);
  CHECK(copy_of(entry.box).count == single.count);
  REQUIRE(reader.next(entry));
  CHECK(entry.kind == EntryKind::fill);
  CHECK(entry.varid == 4);
  CHECK(entry.box.dimensions() == 0);
  CHECK_FALSE(reader.next(entry));
}

TEST_CASE("the writer makes the example of the format page") {
  Chunk chunk(18);
  TableWriter writer(chunk.bytes());
  TableEntry segment;
  segment.kind = EntryKind::segment;
  segment.length_bytes = 4096;
  segment.segment_id = 9;
  const formats::Hyperslab first{{2, 0}, {1, 3}, {}};
  const formats::Hyperslab second{{7, 4}, {1, 1}, {}};
  CHECK(writer.append(segment));
  CHECK(writer.append(request(1, first, 5000, 0)));
  CHECK(writer.append(request(1, second, 6000, 16)));
  writer.commit();
  const std::vector<std::uint64_t> expected{
      136, 3, 0, 4096, 9, 0, 0x0000000100020001, 5000, 0, 2, 0, 1, 3, 0x0000000100020201, 6000, 16, 7, 4};
  CHECK(chunk.memory == expected);
}

TEST_CASE("a list is written once and named by requests") {
  Chunk chunk(64);
  TableWriter writer(chunk.bytes());
  const std::vector<formats::Hyperslab> boxes{
      {{1, 2}, {3, 4}, {}}, {{5, 6}, {1, 1}, {7, 8}}, {{9, 0}, {0, 2}, {}}};
  std::vector<formats::HyperslabView> views;
  for (const auto& box : boxes) views.push_back(box.view());
  for (std::size_t count = 1; count <= boxes.size(); ++count) {
    TableEntry list;
    list.kind = EntryKind::list;
    list.boxes = std::span(views).first(count);
    CHECK(writer.append(list));
  }
  TableEntry request;
  request.kind = EntryKind::list_request;
  request.varid = 7;
  request.sequence = 11;
  request.log_offset = 64;
  request.element_bytes = 4;
  request.list = 2;
  request.dimensions = 2;
  CHECK(writer.append(request));
  writer.commit();

  TableReader reader(chunk.bytes(), 0);
  TableEntry entry;
  for (std::size_t count = 1; count <= boxes.size(); ++count) {
    REQUIRE(reader.next(entry));
    CHECK(entry.kind == EntryKind::list);
    REQUIRE(entry.boxes.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      const formats::Hyperslab found = copy_of(entry.boxes[i]);
      CHECK(found.start == boxes[i].start);
      CHECK(found.count == boxes[i].count);
      for (int d = 0; d < 2; ++d) CHECK(entry.boxes[i].stride_of(d) == views[i].stride_of(d));
    }
  }
  REQUIRE(reader.next(entry));
  CHECK(entry.kind == EntryKind::list_request);
  CHECK(entry.varid == 7);
  CHECK(entry.sequence == 11);
  CHECK(entry.log_offset == 64);
  CHECK(entry.element_bytes == 4);
  CHECK(entry.list == 2);
  CHECK(entry.dimensions == 2);
  CHECK_FALSE(reader.next(entry));
}

TEST_CASE("damaged lists are refused") {
  read_all({head(4, 0, 1, 0), 2, 0, 1, 5, 1});  // a valid one
  read_all({head(4, 2, 2, 0), 1, 0, 1});
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 0)}), Error);              // no length
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 0), 0}), Error);           // empty
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 0), 2, 0, 1, 5}), Error);  // cut off
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 0), std::uint64_t{1} << 61, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(4, 0, 0, 0), 1}), Error);           // no dimension
  CHECK_THROWS_AS(read_all({head(4, 3, 1, 0), 1, 0, 1, 1}), Error);  // both flags
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 1), 1, 0, 1}), Error);     // a variable
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 0), 1, ~std::uint64_t{0}, 1}), Error);
  read_all({head(5, 0, 1, 3), 1, 0, 8, 0});
  CHECK_THROWS_AS(read_all({head(5, 0, 1, 3), 1, 0, 8}), Error);
  CHECK_THROWS_AS(read_all({head(5, 1, 1, 3), 1, 0, 8, 0}), Error);
  CHECK_THROWS_AS(read_all({head(5, 0, 1, 3), 1, 0, 0, 0}), Error);
  CHECK_THROWS_AS(read_all({head(5, 0, 1, 3), 1, 0, 9, 0}), Error);
  CHECK_THROWS_AS(read_all({head(5, 0, 1, 3), 1, ~std::uint64_t{0}, 8, 0}), Error);
}

TEST_CASE("nothing is visible before commit, and a reader goes on where the last one stopped") {
  Chunk chunk(64);
  TableWriter writer(chunk.bytes());
  const formats::Hyperslab box{{1}, {2}, {}};
  CHECK(writer.append(request(1, box)));
  TableEntry entry;
  CHECK_FALSE(TableReader(chunk.bytes(), 0).next(entry));
  writer.commit();
  TableReader first(chunk.bytes(), 0);
  REQUIRE(first.next(entry));
  CHECK_FALSE(first.next(entry));
  CHECK(writer.append(request(2, box)));
  writer.commit();
  CHECK_FALSE(first.next(entry));  // the entries that were committed when the view was made
  TableReader second(chunk.bytes(), first.position());
  REQUIRE(second.next(entry));
  CHECK(entry.varid == 2);
  CHECK_FALSE(second.next(entry));
}

TEST_CASE("a full chunk refuses an entry and stays as it is") {
  const formats::Hyperslab box{{1, 2}, {3, 4}, {}};
  const std::size_t bytes = TableWriter::entry_bytes(request(0, {{0, 0}, {2, 2}, {}}));
  Chunk chunk(1 + 2 * bytes / 8);
  TableWriter writer(chunk.bytes());
  CHECK(writer.append(request(0, box)));
  CHECK(writer.append(request(1, box)));
  CHECK_FALSE(writer.append(request(2, box)));
  writer.commit();
  TableReader reader(chunk.bytes(), 0);
  TableEntry entry;
  CHECK(reader.next(entry));
  CHECK(reader.next(entry));
  CHECK_FALSE(reader.next(entry));
  CHECK_FALSE(TableWriter().append(request(0, box)));
}

TEST_CASE("numbers that cannot be computed with are refused") {
  CHECK_NOTHROW(read_all({head(1, 0, 1, 0), 0, 0, 3, 4}));
  CHECK_NOTHROW(read_all({head(1, 0, 1, 0), 0, 0, matcher::index_limit - 1, 1}));
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 0), 0, 0, matcher::index_limit, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 0), 0, 0, huge, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 0), 0, 0, ~0ULL, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 0), 0, 0, 0, ~0ULL}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 0), 0, 0, 5, huge}), Error);
  CHECK_THROWS_AS(read_all({head(1, 1, 1, 0), 0, 0, 0, 3, huge}), Error);
  CHECK_THROWS_AS(read_all({head(1, 1, 1, 0), 0, 0, 0, 3, 0}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 2, 0), 0, 0, 0, 0, 1ULL << 40, 1ULL << 40}), Error);
  CHECK_NOTHROW(read_all({head(1, 0, 3, 0), 0, 0, 0, 0, 0, 1ULL << 40, 1ULL << 40, 0}));
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 0), 0, 1ULL << 63, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 1, 1ULL << 31), 0, 0, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 3, 1, 0), 0, 0, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 4, 1, 0), 0, 0, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(0, 0, 1, 0), 0, 0, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(4, 0, 1, 0), 0, 0, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(1, 0, 0xffff, 0), 0, 0, 0, 1}), Error);
  CHECK_THROWS_AS(read_all({head(3, 0, 1, 0), 0, 0, 0, 0}), Error);
  CHECK_THROWS_AS(read_all({3, 0, ~0ULL, 0, 0}), Error);
  CHECK_THROWS_AS(read_all({3, 0, 1, 0}), Error);
}

TEST_CASE("a length that does not fit the chunk is refused") {
  for (const std::uint64_t used :
       {std::uint64_t{40}, std::uint64_t{12}, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    std::vector<std::uint64_t> words{used, head(1, 0, 1, 0), 0, 0, 0};
    TableReader reader(std::as_bytes(std::span(words)), 0);
    TableEntry entry;
    CHECK_THROWS_AS(while (reader.next(entry)){}, Error);
  }
  std::vector<std::uint64_t> words{8, 0};
  TableEntry entry;
  CHECK_THROWS_AS((void)TableReader(std::as_bytes(std::span(words)), 16).next(entry), Error);
  CHECK_THROWS_AS((void)TableReader(std::as_bytes(std::span(words)), 4).next(entry), Error);
  CHECK_FALSE(TableReader({}, 0).next(entry));
}

TEST_CASE("random words end in an error or in sound entries, never outside the chunk") {
  std::mt19937_64 random(test::test_seed());
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint64_t> words(1 + random() % 40);
    for (std::uint64_t& word : words) {
      const int bits = static_cast<int>(random() % 65);
      word = bits == 0 ? 0 : random() >> (64 - bits);
      if (random() % 4 == 0) word = head(1 + random() % 3, random() % 3, random() % 4, random() % 5);
    }
    words[0] = random() % 2 == 0 ? (words.size() - 1) * 8 : random() % (words.size() * 9);
    TableReader reader(std::as_bytes(std::span(words)), 0);
    TableEntry entry;
    try {
      while (reader.next(entry)) {
        if (entry.kind != EntryKind::segment) CHECK(matcher::is_sound(entry.box));
      }
    } catch (const Error& error) {
      CHECK(error.status() == NC_EIO);
    }
  }
}

namespace {

constexpr int shared_entries = 20000;

void write_entries(std::span<std::byte> memory) {
  TableWriter writer(memory);
  for (int i = 0; i < shared_entries; ++i) {
    const formats::Hyperslab box{{i, 2 * i}, {1 + i % 3, 1}, {}};
    TableEntry entry = request(i, box, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(8 * i));
    if (!writer.append(entry)) return;
    if (i % 7 == 0 || i + 1 == shared_entries) writer.commit();
  }
}

/// Reads until all entries have come. Returns the number of wrong ones.
int read_entries(std::span<const std::byte> memory) {
  int wrong = 0;
  int seen = 0;
  std::size_t position = 0;
  while (seen < shared_entries) {
    TableReader reader(memory, position);
    TableEntry entry;
    while (reader.next(entry)) {
      const bool as_written = entry.varid == seen &&
                              entry.log_offset == static_cast<std::uint64_t>(8 * seen) &&
                              entry.box.start[1] == 2 * seen && entry.box.count[0] == 1 + seen % 3;
      wrong += as_written ? 0 : 1;
      ++seen;
    }
    position = reader.position();
    std::this_thread::yield();
  }
  return wrong;
}

}  // namespace

TEST_CASE("a reader in another thread sees only whole entries") {
  Chunk chunk(1 + shared_entries * 7);
  std::span<std::byte> memory = chunk.bytes();
  TableWriter empty(memory);
  int wrong = -1;
  std::thread reader([&] { wrong = read_entries(memory); });
  write_entries(memory);
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("a reader in another process sees only whole entries") {
  const std::size_t bytes = (1 + shared_entries * 7) * 8;
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapping != MAP_FAILED);
  const std::span<std::byte> memory(static_cast<std::byte*>(mapping), bytes);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    write_entries(memory);
    _exit(0);
  }
  CHECK(read_entries(memory) == 0);
  CHECK(waitpid(child, nullptr, 0) == child);
  munmap(mapping, bytes);
}
