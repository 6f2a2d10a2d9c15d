#include "sluice/runtime/write_log.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "sluice/formats/error.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::runtime;
using matcher::EntryKind;
using matcher::TableEntry;
using matcher::TableReader;

namespace {

/// Grants segments from the heap, filled with garbage as recycled segments are.
class HeapSource final : public SegmentSource {
 public:
  struct Granted {
    SegmentRequest request;
    std::vector<std::uint64_t> words;  // aligned
    [[nodiscard]] std::span<std::byte> memory() { return std::as_writable_bytes(std::span(words)); }
  };

  WritableSegment need_segment(const SegmentRequest& request) override {
    if (request.bytes > limit_bytes) throw Error(NC_ENO_SPACE, "no room");
    const std::uint64_t granted_bytes =
        request.wanted_bytes > limit_bytes ? request.bytes : std::max(request.bytes, request.wanted_bytes);
    const std::uint64_t bytes = std::bit_ceil(std::max<std::uint64_t>(granted_bytes, 65536));
    granted.push_back({request, std::vector<std::uint64_t>(bytes / 8, 0xdeadbeefdeadbeef)});
    granted.back().words[0] = 0;  // the matcher zeroes the first word of a table
    return {granted.size(), granted.back().memory(), nullptr, {}};
  }

  std::deque<Granted> granted;  // ids are positions + 1
  std::uint64_t limit_bytes = ~0ULL;
};

struct FoundRequest {
  TableEntry entry;
  std::vector<std::int64_t> start, count;
  const std::byte* data = nullptr;
};

/// Reads all committed requests as the matcher does, and finds their data by the segment entries.
std::vector<FoundRequest> committed_requests(HeapSource& source) {
  std::vector<FoundRequest> found;
  std::vector<TableEntry> ranges;
  for (auto& chunk : source.granted) {
    if (chunk.request.use != SegmentUse::table) continue;
    TableReader reader(chunk.memory(), 0);
    TableEntry entry;
    while (reader.next(entry)) {
      if (entry.kind == EntryKind::segment) {
        CHECK((ranges.empty() || ranges.back().log_offset < entry.log_offset));
        ranges.push_back(entry);
        continue;
      }
      FoundRequest request{entry,
                           {entry.box.start.begin(), entry.box.start.end()},
                           {entry.box.count.begin(), entry.box.count.end()},
                           nullptr};
      if (entry.kind == EntryKind::request) {
        const auto range = std::find_if(ranges.rbegin(), ranges.rend(), [&](const TableEntry& r) {
          return r.log_offset <= entry.log_offset;
        });
        REQUIRE(range != ranges.rend());
        REQUIRE(entry.log_offset < range->log_offset + range->length_bytes);
        request.data = source.granted[range->segment_id - 1].memory().data() + range->segment_offset +
                       (entry.log_offset - range->log_offset);
      }
      found.push_back(std::move(request));
    }
  }
  return found;
}

void put(WriteLog& log, int varid, std::int64_t first, std::uint64_t bytes) {
  const auto room = log.reserve(bytes);
  std::memset(room.data, static_cast<int>(first & 0x7f), bytes);
  const std::vector<std::int64_t> start{first}, count{static_cast<std::int64_t>(bytes)};
  log.append_request(varid, log.next_sequence(), room.log_offset, {start, count, {}});
  log.commit();
}

}  // namespace

TEST_CASE("requests of any size are found again with their data, in order") {
  std::mt19937 random(test::test_seed());
  HeapSource source;
  WriteLog log(source, 7, {});
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t largest = 1ULL << (random() % 21);
    sizes.push_back(1 + random() % largest);
    put(log, i, i, sizes.back());
  }
  const auto found = committed_requests(source);
  REQUIRE(found.size() == sizes.size());
  std::uint64_t end = 0, sequence = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& request = found[i];
    CHECK(request.entry.varid == static_cast<int>(i));
    CHECK(request.entry.sequence > sequence);
    CHECK(request.entry.log_offset >= end);
    CHECK(request.entry.log_offset % (sizes[i] >= 4096 ? 64 : 8) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(request.data) % 8 == 0);
    const std::span data(request.data, sizes[i]);
    CHECK(std::all_of(data.begin(), data.end(),
                      [&](std::byte b) { return b == static_cast<std::byte>(i & 0x7f); }));
    sequence = request.entry.sequence;
    end = request.entry.log_offset + sizes[i];
  }
  CHECK(log.size().data_bytes == end);
}

TEST_CASE("log offsets do not depend on the segments") {
  std::mt19937 random(test::test_seed());
  HeapSource small, large;
  WriteLog first(small, 1, {}), second(large, 2, LogSize{1ULL << 30, 1ULL << 22});
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t bytes = 1 + random() % 50000;
    CHECK(first.reserve(bytes).log_offset == second.reserve(bytes).log_offset);
  }
  CHECK(small.granted.size() > large.granted.size());
}

TEST_CASE("segments grow with the log, and a log of known size gets its space at once") {
  HeapSource source;
  WriteLog log(source, 1, {});
  for (int i = 0; i < 300; ++i) put(log, 0, i, 1U << 20);
  std::size_t segments = 0;
  for (const auto& granted : source.granted) {
    CHECK(granted.request.step == 1);
    CHECK(granted.request.bytes <= (1U << 26));
    segments += granted.request.use == SegmentUse::data ? 1 : 0;
  }
  CHECK(segments <= 20);

  HeapSource again;
  WriteLog next(again, 2, LogSize{8U << 20, 65536});
  for (int i = 0; i < 8; ++i) put(next, 0, i, 1U << 20);
  CHECK(again.granted.size() == 2);
}

TEST_CASE("segments provided ahead are used first, and further ones are requested if they are too small") {
  const auto provide = [](WriteLog& log, HeapSource& source) {
    const auto wanted = log.wanted_ahead();
    for (const SegmentRequest& segment : wanted) {
      CHECK(segment.is_ahead);
      log.provide(segment.use, source.need_segment(segment));
    }
    return wanted.size();
  };
  HeapSource source;
  WriteLog log(source, 1, LogSize{1U << 20, 65536});
  CHECK(provide(log, source) == 2);
  CHECK(log.wanted_ahead().empty());
  for (int i = 0; i < 8; ++i) put(log, i, i, 1U << 17);
  CHECK(source.granted.size() == 2);
  CHECK(committed_requests(source).size() == 8);

  HeapSource small;
  WriteLog larger(small, 1, LogSize{1U << 16, 65536});
  CHECK(provide(larger, small) == 2);
  put(larger, 0, 0, 1U << 20);
  CHECK(small.granted.size() == 3);
  CHECK(committed_requests(small).size() == 1);

  // The table's first chunk has no space for the list. The chunk still counts, as it does for readers of the
  // log.
  HeapSource listed;
  WriteLog list(listed, 1, LogSize{8, 8});
  CHECK(provide(list, listed) == 2);
  std::vector<std::int64_t> starts(20000);
  const std::vector<std::int64_t> count{1};
  std::vector<formats::HyperslabView> boxes;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    starts[i] = static_cast<std::int64_t>(2 * i);
    boxes.push_back({std::span(&starts[i], 1), count, {}});
  }
  list.append_list({0, list.next_sequence(), list.reserve(80000).log_offset, 4, boxes, {1, 1}});
  list.commit();
  CHECK(list.position().chunks == 2);

  WriteLog unknown(source, 2, {});
  REQUIRE(unknown.wanted_ahead().size() == 1);
  CHECK(unknown.wanted_ahead()[0].use == SegmentUse::table);
  unknown.expect(LogSize{});  // the last step had no put
  CHECK(unknown.wanted_ahead().empty());
}

TEST_CASE("a log of a small file begins with small segments, which grow with what is put") {
  HeapSource source;
  WriteLog log(source, 1, {});
  log.limit_first_segments({64, 512});
  put(log, 0, 0, 64);
  REQUIRE(source.granted.size() == 2);
  for (const auto& granted : source.granted) CHECK(granted.request.wanted_bytes == 4096);

  for (int i = 1; i < 40000; ++i) put(log, 0, i, 64);
  std::size_t data_segments = 0;
  for (const auto& granted : source.granted) data_segments += granted.request.use == SegmentUse::data ? 1 : 0;
  CHECK(data_segments <= 20);
  CHECK(committed_requests(source).size() == 40000);

  HeapSource large;
  WriteLog limited(large, 1, {});
  limited.limit_first_segments(
      {1ULL << 40, 1ULL << 40});  // what a file holds is no reason to take more than usual
  put(limited, 0, 0, 64);
  for (const auto& granted : large.granted) CHECK(granted.request.wanted_bytes <= (1U << 20));
}

TEST_CASE("nothing is visible before commit, fill entries take no data, strides are kept") {
  HeapSource source;
  WriteLog log(source, 1, {});
  const std::vector<std::int64_t> start{1, 2}, count{3, 4}, stride{5, 6};
  log.append_fill(3, log.next_sequence(), {start, count, stride});
  CHECK(committed_requests(source).empty());
  log.commit();
  const auto found = committed_requests(source);
  REQUIRE(found.size() == 1);
  CHECK(found[0].entry.kind == EntryKind::fill);
  CHECK(found[0].start == start);
  CHECK(log.size().data_bytes == 0);
}

TEST_CASE("a list of very many tiny requests goes over as many table chunks as it needs") {
  HeapSource source;
  WriteLog log(source, 1, {});
  const std::int64_t n = 100000;
  const auto room = log.reserve(n * 4);
  std::uint64_t sequence = log.next_sequence();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::vector<std::int64_t> start{i, 2 * i}, count{1, 1};
    log.append_request(0, sequence++, room.log_offset + static_cast<std::uint64_t>(i) * 4,
                       {start, count, {}});
  }
  log.raise_sequence(sequence);
  log.commit();
  CHECK(log.next_sequence() > sequence);
  const auto found = committed_requests(source);
  REQUIRE(found.size() == static_cast<std::size_t>(n));
  CHECK(found.back().start == std::vector<std::int64_t>{n - 1, 2 * (n - 1)});
  CHECK(log.size().table_bytes < 100 * static_cast<std::uint64_t>(n));
}

TEST_CASE("a put that finds no memory fails with its status and leaves the log as it was") {
  HeapSource source;
  WriteLog log(source, 1, {});
  put(log, 0, 1, 1000);
  source.limit_bytes = 100000;
  CHECK_THROWS_AS((void)log.reserve(2U << 20), Error);
  put(log, 0, 2, 2000);
  // The segment has less space than a new one would have, but enough for this put.
  put(log, 0, 3, 900);
  CHECK(committed_requests(source).size() == 3);
  HeapSource poor;
  poor.limit_bytes = 70000;
  WriteLog other(poor, 1, {});
  put(other, 0, 1, 60000);
  CHECK(committed_requests(poor).size() == 1);
}

namespace {

/// Grants ranges of one file: the first time with the descriptor, then without it.
class OneSegment final : public SegmentSource {
 public:
  explicit OneSegment(std::uint64_t bytes)
      : file_(std::make_shared<const FileDescriptor>(create_segment(bytes + offset))),
        mapping_(
            std::make_shared<Mapping>(*file_, SegmentExtent{bytes, offset}, Mapping::Access::read_write)) {}

  WritableSegment need_segment(const SegmentRequest& request) override {
    if (request.use == SegmentUse::table) return tables_.need_segment(request);
    return {1, mapping_->writable(), mapping_, std::move(file_), offset};
  }
  [[nodiscard]] const std::byte* memory() const { return mapping_->bytes().data(); }

 private:
  static constexpr std::uint64_t offset = 12288;
  std::shared_ptr<const FileDescriptor> file_;
  std::shared_ptr<const Mapping> mapping_;
  HeapSource tables_;
};

}  // namespace

TEST_CASE("data stored in fresh and in warm segments is the same") {
  std::mt19937 random(test::test_seed());
  OneSegment source(32U << 20);
  for (int step = 0; step < 3; ++step) {
    WriteLog log(source, static_cast<std::uint64_t>(step), LogSize{30U << 20, 0});
    while (log.size().data_bytes < (28U << 20)) {
      std::vector<std::byte> data(1 + random() % (random() % 2 == 0 ? 5000 : 3000000));
      for (auto& byte : data) byte = static_cast<std::byte>(random());
      const auto room = log.reserve(data.size());
      if (random() % 4 == 0) {
        log.prepare(room, data.size());
        std::memcpy(room.data, data.data(), data.size());
      } else {
        log.store(room, data.data(), data.size());
      }
      CHECK(std::memcmp(source.memory() + room.log_offset, data.data(), data.size()) == 0);
    }
    log.finish();
  }
}

TEST_CASE("a list of boxes takes room once, however many variables it is put to") {
  HeapSource source;
  WriteLog log(source, 1, {});
  std::vector<std::int64_t> numbers(2000);
  std::vector<formats::HyperslabView> boxes;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    numbers[i] = static_cast<std::int64_t>(7 * i);
    numbers[i + 1] = 1;
    boxes.push_back({std::span(numbers).subspan(i, 1), std::span(numbers).subspan(i + 1, 1), {}});
  }
  for (int varid = 0; varid < 100; ++varid) {
    const auto room = log.reserve(4 * boxes.size());
    log.append_list({varid, 1, room.log_offset, 4, boxes, {1, 2}});
  }
  log.commit();
  std::size_t lists = 0;
  std::size_t requests = 0;
  std::uint64_t table_bytes = 0;
  for (auto& chunk : source.granted) {
    if (chunk.request.use != SegmentUse::table) continue;
    TableReader reader(chunk.memory(), 0);
    TableEntry entry;
    while (reader.next(entry)) {
      if (entry.kind == EntryKind::list) ++lists;
      if (entry.kind == EntryKind::list_request) CHECK(entry.varid == static_cast<int>(requests++));
    }
    table_bytes += reader.position();
  }
  CHECK(lists == 1);
  CHECK(requests == 100);
  CHECK(table_bytes < 8 * boxes.size() + 100 * 64);
}

TEST_CASE("a log continues in another step: behind its data, in the same segments, with new lists") {
  HeapSource source;
  WriteLog log(source, 7, {});
  const std::vector<std::int64_t> start{3}, count{2};
  const std::vector<formats::HyperslabView> boxes(2, formats::HyperslabView{start, count, {}});
  const auto put_list = [&] {
    const auto room = log.reserve(32);
    log.append_list({1, log.next_sequence(), room.log_offset, 8, boxes, {5, 6}});
    log.commit();
    return room.log_offset;
  };
  put(log, 0, 0, 100);
  put_list();
  put_list();
  log.finish();
  const matcher::TablePosition end = log.position();
  CHECK(end.lists == 1);
  CHECK(log.ranges()[0].length_bytes == 168);
  const std::size_t segments = source.granted.size();
  for (std::uint64_t step = 8; step < 50; ++step) {
    log.go_on(step);
    CHECK(log.first_offset() % 64 == 0);
    CHECK(put_list() == log.first_offset());
    CHECK(log.position().lists == end.lists + step - 7);
    CHECK(log.size().data_bytes == 32);
    log.finish();
    CHECK(log.ranges().size() == 1);
    CHECK(log.ranges()[0].length_bytes == log.first_offset() + 32);
  }
  CHECK(source.granted.size() == segments);
  // More than the log has: it uses the remaining space first.
  log.go_on(50);
  put(log, 0, 1, 60000);
  put(log, 0, 2, 2'000'000);
  log.finish();
  REQUIRE(log.ranges().size() == 2);
  CHECK(log.ranges()[0].log_offset + log.ranges()[0].length_bytes <= log.ranges()[1].log_offset);
  CHECK(source.granted.back().request.step == 50);
  CHECK(source.granted.size() == segments + 1);
  // From this position on, a reader needs no earlier entry.
  const auto table = std::ranges::find_if(
      source.granted, [](const auto& granted) { return granted.request.use == SegmentUse::table; });
  TableReader reader(table->memory(), end.bytes);
  TableEntry entry;
  REQUIRE(reader.next(entry));
  CHECK(entry.kind == EntryKind::list);
  REQUIRE(reader.next(entry));
  CHECK(entry.list == end.lists);
}

namespace {

/// Takes back what a step has not used, as a log on disk does.
class GivingBackSource final : public SegmentSource {
 public:
  explicit GivingBackSource(HeapSource& base) : base_(base) {}
  WritableSegment need_segment(const SegmentRequest& request) override {
    auto segment = base_.need_segment(request);
    if (request.use == SegmentUse::data) room_bytes = segment.memory.size();
    return segment;
  }
  std::uint64_t need_room(const Room& room) override {
    asked.push_back(room);
    if (room.needed_bytes > room_bytes && is_full) throw Error(NC_ENO_SPACE, "the disk is full");
    return room_bytes = std::max(room_bytes, room.wanted_bytes);
  }

  std::uint64_t room_bytes = 0;
  bool is_full = false;
  std::vector<Room> asked;

 private:
  HeapSource& base_;
};

}  // namespace

TEST_CASE("a log that goes on asks for room in its last segment before it writes there") {
  HeapSource heap;
  GivingBackSource source(heap);
  WriteLog log(source, 1, {});
  put(log, 0, 0, 100);
  log.finish();
  const std::size_t segments = heap.granted.size();
  CHECK(source.asked.empty());
  for (std::uint64_t step = 2; step <= 50; ++step) {
    source.room_bytes = log.ranges().back().segment_offset + log.ranges().back().length_bytes;
    log.go_on(step);
    log.expect(LogSize{200, 96});
    source.asked.clear();
    for (int i = 0; i < 2; ++i) put(log, 0, static_cast<std::int64_t>(2 * step) + i, 100);
    log.finish();
    // Once for what the step is expected to need, and once more for the gap between the two puts.
    CHECK(source.asked.size() <= 2);
    CHECK(source.asked.front().wanted_bytes >= source.asked.front().needed_bytes);
  }
  CHECK(heap.granted.size() == segments);
  CHECK(committed_requests(heap).size() == 1 + 2 * 49);

  source.room_bytes = log.ranges().back().length_bytes;
  log.go_on(51);
  source.is_full = true;
  CHECK_THROWS_AS(put(log, 0, 0, 100), Error);
  source.is_full = false;
  put(log, 0, 0, 100);
  CHECK(committed_requests(heap).size() == 2 + 2 * 49);
}
