#include "sluice/runtime/wire.hpp"

#include <doctest/doctest.h>

#include <random>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

AccessCounters some_counters() {
  return {1, 2, 3, 4, 5, 6};
}

StatusReport some_report() {
  StatusReport report;
  report.datasets.push_back({3, "a.nc", 7, 1, some_counters(), 1U << 20});
  report.datasets.push_back({4, "dir/b.nc", 0, 0, {}, 0});
  report.waits.push_back({"model", 2, "memory for a.nc", 1234});
  report.bytes_staged = 99;
  report.bytes_staged_peak = 100;
  report.drains = {{1, "f.nc", true, 2, 3}};
  report.drain_failures = {"the disk is full"};
  report.components_ended = 4;
  report.bytes_spilled = 101;
  report.bytes_spilled_ever = 102;
  report.datasets.back().steps_lost = 2;
  report.rules = {{{"model", "analysis"}, 5}, {}};
  report.connected = {"model"};
  report.ordinary_files = {{1, "/place/a.nc", true, 6, "plot"}};
  report.kept_logs = {{"a.nc", "/logs"}};
  return report;
}

CoordinatorHello some_coordinator_hello() {
  return {protocol_version,
          {{"*.nc",
            "model",
            {"analysis", "picture"},
            false,
            PublishAt::sync,
            matcher::Through::blobs,
            matcher::PartitionKind::variable,
            {true, {"t*", "u"}}},
           {"", "", {}}},
          {{"model", 4}},
          1ULL << 40,
          1 << 20,
          "/scratch"};
}

Get some_get() {
  return {5, {{1, 2, true, {5, 6, 7, 8, 1, 2}}, {1, 0, false, {}}}, {{2, 0}, {3, 1}, {4, 0}}};
}

/// Calls `use` with one example of every message.
template <class Use>
void for_every_message(Use use) {
  const Member member{77, 3, 4};
  const DatasetKey key{2, "out/f.nc"};
  use(Hello{protocol_version, "1.2.3", 42, 4711, "model"});
  use(Welcome{protocol_version, "1.2.3", 1});
  use(Create{key, member, true, 5, "/out/f.nc"});
  use(Created{9, 10});
  use(Open{key, member});
  use(Opened{9,
             10,
             2,
             365,
             bytes_of({1, 2, 3}),
             {{1, 2}, {3, 4}, 5, 6, 7},
             {{7, 8, 9, 10, 11}},
             PublishAt::sync,
             8,
             "/data/a.nc"});
  use(Discard{9, true});
  use(Inquire{key, member});
  use(Described{5});
  use(AwaitRoom{9, 4096, 3, "no space left"});
  use(Room{4});
  use(NeedSegment{9, SegmentUse::table, 4096});
  use(NeedSegment{9, SegmentUse::data, 4096, 4096, {}, true});
  use(Several{{{MessageType::header, 7, bytes_of({1, 2})}, {MessageType::need_segment, 8, {}}}});
  use(NeedSegment{9, SegmentUse::data, 4096, 8192, {"/logs/a.meta", 65536, true}});
  use(SegmentGrant{10, 8192, true, 4096, true, false, 7});
  use(HeaderUpdate{9, bytes_of({0, 255}), {1, 2}});
  use(Publish{9,
              12,
              some_counters(),
              {{1, 2}, 3, 4, true, {true, 5, {{1, 2, 3}}}, 6},
              {{0, 8, 16, 10, 64}},
              {2, 64}});
  use(Discard{9});
  use(CloseRead{9, some_counters()});
  use(some_get());
  use(Plans{{{0, 8, 16, 10, 64}, {1, 0, 1, 2, 3}}, bytes_of({4}), 5, {{1, {{2, -3}}}, {0, {}}}});
  use(Remove{key});
  use(ErrorReply{-68, "what, where, what to do"});
  use(DropSegments{{1, 2, 3}});
  use(some_coordinator_hello());
  use(ComponentExited{"model", "exited with status 1"});
  use(some_report());
  use(EventNotice{"a line", true});
  use(OrdinaryFile{1, "/place/a.nc", true, 6});
}

}  // namespace

TEST_CASE("every message survives encoding and decoding") {
  for_every_message([](const auto& message) {
    using Message = std::decay_t<decltype(message)>;
    const auto fields = encode(message);
    CHECK(encode(decode<Message>(fields)) == fields);
  });
  const Get get = decode<Get>(encode(some_get()));
  REQUIRE(get.accesses.size() == 3);
  CHECK(get.accesses[1].list == 1);
  REQUIRE(get.lists.size() == 2);
  CHECK(get.lists[0].numbers == std::vector<std::int64_t>{5, 6, 7, 8, 1, 2});
  const auto opened = decode<Opened>(encode(Opened{9, 10, 2, -1, bytes_of({1, 2, 3})}));
  CHECK(opened.record_count == -1);
  CHECK(opened.header == bytes_of({1, 2, 3}));
  CHECK(decode<Create>(encode(Create{{2, "out/f.nc"}, {1, 2, 3}, true, 5})).key == DatasetKey{2, "out/f.nc"});
}

TEST_CASE("the bytes of a message are as the protocol says") {
  CHECK(encode(Create{{1, "f"}, {2, 3, 4, true}, true, 5, "/f", true}) ==
        bytes_of({1, 0, 0, 0, 1, 0, 0, 0, 'f', 2, 0, 0, 0, 0, 0,   0,   0, 3,
                  0, 0, 0, 4, 0, 0, 0, 1, 1,   5, 2, 0, 0, 0, '/', 'f', 1}));
  CHECK(encode(HeaderUpdate{1, bytes_of({9}), {2, 3}}) ==
        bytes_of({1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9,
                  2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_CASE("a message cut at any byte, or with bytes behind it, is an error") {
  for_every_message([](const auto& message) {
    using Message = std::decay_t<decltype(message)>;
    auto fields = encode(message);
    for (std::size_t length = 0; length < fields.size(); ++length) {
      CHECK_THROWS_AS((void)decode<Message>(std::span(fields).first(length)), Error);
    }
    fields.push_back(std::byte{0});
    CHECK_THROWS_AS((void)decode<Message>(fields), Error);
  });
}

TEST_CASE("a garbled message is decoded to something else or is an error, never more") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for_every_message([&](const auto& message) {
    using Message = std::decay_t<decltype(message)>;
    const auto good = encode(message);
    for (int round = 0; round < 2000 && !good.empty(); ++round) {
      auto fields = good;
      const auto changes = 1 + random() % 4;
      for (unsigned i = 0; i < changes; ++i)
        fields[random() % fields.size()] = static_cast<std::byte>(random());
      try {
        (void)encode(decode<Message>(fields));
      } catch (const Error& error) {
        CHECK(error.status() == NC_EIO);
      }
    }
  });
}

TEST_CASE("an error names the message, what is wrong and where") {
  auto fields = encode(Remove{{1, "f"}});
  fields[4] = std::byte{200};
  CHECK_THROWS_WITH_AS((void)decode<Remove>(fields),
                       "damaged message Remove: 200 bytes, fewer are left at byte 8 of 13", Error);
  CHECK_THROWS_AS((void)decode<NeedSegment>(encode(NeedSegment{1, static_cast<SegmentUse>(3), 1})), Error);
}

TEST_CASE("a list that promises four thousand million elements takes no memory for them") {
  const auto fields = bytes_of({255, 255, 255, 255, 0, 0, 0, 0});
  CHECK_THROWS_AS((void)decode<DropSegments>(fields), Error);
}
