#include "sluice/runtime/wire.hpp"

#include <doctest/doctest.h>

#include <random>

#include "control_protocol.hpp"
#include "exchange_protocol.hpp"
#include "sluice/formats/error.hpp"
#include "support/seed.hpp"

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
  report.bytes_staged = 99;
  report.bytes_staged_peak = 100;
  report.drain_failures = {"the disk is full"};
  report.bytes_spilled = 101;
  report.bytes_spilled_ever = 102;
  report.datasets.back().steps_lost = 2;
  report.rules = {{{"model", "analysis"}, 5, {{"analysis", 6, 7, 8}}, {{"analysis", 2, "a.nc", 3, true}}},
                  {}};
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

Listing some_listing() {
  const DatasetKey key{2, "out/f.nc"};
  return {{{key, "f.nc", "/out/f.nc", 9, 4096, 250, 3}}, 7, key};
}

RunView some_run_view() {
  RunView view;
  view.now_ms = 5;
  view.components = {{"model", 4, 3, 2, true, true, "exited"}};
  view.rules = {{"*.nc", "model", {"analysis"}, {1, 2, 3}, {{"model"}, 5, {{"analysis", 6, 7, 8}}}}};
  view.silent = {{1, 1, "host", 7, 3000}};
  view.uses = {{1, "model", some_counters()}};
  view.files = {{1, "a.nc", true, 4096, {{"analysis", 2, false, 9}}, {"plot"}, {"analysis"}}};
  view.more_files = 6;
  view.waits = {{"analysis", 2, "'a.nc' from model", 7, {0, 1}}};
  view.gatherings = {{"model", "open of a.nc", 1, 3, {1, 2}, true, false, 8}};
  view.copies = {{"model", "a.nc", true, 2, 7, {0, 1}}};
  view.nodes = {{1, 2, 3, 4}};
  view.drains = {{1, "f.nc", 2, 3}};
  view.activities = {{Activity::Kind::get, "analysis", 1, 1, "a.nc", 2, 3, 4, 5}};
  view.last_activity = 9;
  return view;
}

Get some_get() {
  return {5, {{1, 2, true, {5, 6, 7, 8, 1, 2}}, {1, 0, false, {}}}, {{2, 0}, {3, 1}, {4, 0}}};
}

template <class Use>
void for_every_message_to_registry(Use use) {
  const auto send = [&](RegistryBody body) { use(MessageToRegistry{3, std::move(body)}); };
  Open open{{1, "a.nc"}, {2, 0, 1, false}, "/work/a.nc", Purpose::write, Open::Which::look};
  open.continues = 9;
  for (RegistryRequest request : std::initializer_list<RegistryRequest>{
           Hello{}, open, SegmentRequest{9, SegmentUse::table, 10, 20}, DiskRequest{9, 10, 1},
           HeaderRequest{9, bytes_of({1, 2})}, SyncRequest{9, {}}, ListRequest{}, WatchRequest{},
           Close{PublishRequest{9, 3, {}}}, Close{Discard{9, StepEnd::untouched}}, Close{ReadEnd{9, {}}},
           Note{Gathering{}}})
    send(ClientRequest{7, 8, std::move(request)});
  const PublishRequest put{9, -3, {}, {}, {{0, 8, 16, 10, 64}}};
  send(Closes{{{7, 8, {PublishRequest{9, 3, {}}}}, {8, 8, {PublishRequest{9, 3, {}}}}, {9, 9, {put}}}});
  send(SegmentCalls{
      {{{9, SegmentUse::table, 10, 20}, {{7, 8}, {8, 8}}}, {{9, SegmentUse::data, 30}, {{7, 9}}}}});
  send(Closes{{{7, 8, {ReadEnd{9, {}}}}, {8, 8, {ReadEnd{9, some_counters()}}}}});
  send(ConnectionEnded{7});
  send(SegmentsMapped{{{7, 10}}});
  send(FileNames{7, {{1, "a.nc"}, {1, "b.nc"}}, true});
  send(TakeSent{{}, "/d/a.nc", {1, "a.nc"}, 2, {1, "b.nc"}, "/d/b.nc"});
  send(ViewQuery{7, 2, 9});
  send(RoundDone{4});
  send(LeaseQuery{2, 9, 4096, 8192, {}});
  send(LeaseQuery{2, 9, 4096, 8192, LeaseReader{1, 7}});
  send(LeaseQuery{0, 9, 0, 0, LeaseReader{1, 7}});
  send(GetWaits{7, 8, 9, "'f.nc' (variable h)"});
  send(GetWaits{7, 8, 0, {}, true});
  send(CopyNote{9, matcher::DrainProgress{100, 200}});
  send(CopyNote{9, DrainTables{{{10, bytes_of({1, 2, 3})}}, "/out/f.nc.part"}});
  send(CopyNote{9, DrainReport{-68, "what, where, what to do", 100, ""}});
  send(CopyNote{9, ImageReport{10, {-68, "what, where, what to do", 100, ""}}});
  send(SpillDone{10, false, "the disk is full"});
  send(SpillDone{10, true});
  send(SpillDone{0, false, "what"});
  send(Looked{0, false, "host", 77});
  send(Looked{5, true});
  send(EventNotice{"a line", true});
  send(MatcherStatus{3, 1, 100, 200, {{1, 2, 3, 4}}});
}

matcher::StepView some_view() {
  matcher::StepView view;
  view.step = 9;
  view.revision = 3;
  view.name = "f.nc";
  view.header = bytes_of({1, 2, 3});
  view.logs.resize(2);
  view.logs[0].tables = {{10, 4096}};
  view.logs[0].data = {{11, 8192}};
  view.logs[0].ranges = {{7, 8, 9, 10, 11}};
  view.logs[1].extent = {true, 5, {{1, 2, 3}}};
  return view;
}

template <class Use>
void for_every_message_to_matcher(Use use) {
  const auto send = [&](MatcherBody body) { use(MessageToMatcher{3, std::move(body)}); };
  send(Answer{7, 8, Opened{9, 10}});
  send(Answer{7, 8, Opened{9, 10, 2, 365, bytes_of({1, 2, 3})}});
  send(Answer{7, 8, Granted{10}});
  send(Answer{7, 8, Done{4}});
  send(Answer{7, 8, Done{}});
  send(Answer{7, 8, some_listing()});
  send(Answer{7, 8, some_run_view()});
  send(Answer{7, 8, ErrorReply{-68, "what, where, what to do"}});
  send(HangUp{7, "why"});
  send(CreateSegment{10, 4096});
  send(ClearSegment{10, SegmentUse::control});
  send(DestroySegment{10});
  send(CreateSegment{10, 4096, false, matcher::DiskRoom{}});
  send(CreateSegment{10, 4096, false, LogPlace{"/logs/a.meta", 65536, true}});
  send(KeepLog{10, true});
  send(DestroySegment{});
  send(MarkGone{10, 2});
  send(View{2, 9, some_view()});
  send(View{2, 9, {}});
  send(View{2, 9, {}, ErrorReply{-33, "no such step"}});
  send(StepOver{9});
  send(StepOver{9, true});
  send(MakeCopy{9, DrainOrder{"/out/f.nc", 2, {true, {"t*"}}, 1, 2, {{1, 64}}, 12, 77, 88, 9}});
  send(MakeCopy{9, DrainTables{{{10, bytes_of({1, 2, 3})}}, "/out/f.nc.part"}});
  send(MakeCopy{9, DrainEnd{true}});
  send(MakeCopy{9, ImageOrder{10, 5, FileSource{3, 77}, true}});
  send(Answer{7, 8, ImageReady{9, 10, 4096}});
  send(CreateSegment{10, 4096, true});
  send(GrantSeries{{{{10, 1, 2}, 4096}}, {{{12, 2, 3}, SegmentUse::table}}, {{7, 8, 10}, {7, 9, 12}}});
  send(CreateSegment{10, 4096, true, matcher::DiskRoom::beyond_reserve});
  send(Look{{5, 1, 0, "model", {4711, 4712}}});
  send(BeginRound{4, StartServing{"/scratch", true, 4096, 8192}});
  send(BeginRound{4, TakeSent{.component = "model", .path = {}, .has_ended = true}});
  send(BeginRound{5, TakeSent{"picture", "/work/f.nc"}});
  send(BeginRound{4, ShutDown{}});
}

template <class Use>
void for_every_exchange_packet(Use use) {
  const Outcome failure{-68, "what, where, what to do"};
  const FetchItem part{true, 8, {1, 2}, bytes_of({1, 2, 3})};
  use(Collect{9, 3, true, true, matcher::Visibility::published});
  use(Collected{
      9, 3, matcher::Visibility::published, {}, {{1, bytes_of({1, 2}), {bytes_of({3}), {}}}, {2, {}}}});
  use(Collected{9, 3, matcher::Visibility::published, failure, {}});
  use(MatchParts{5, 9, {bytes_of({1, 2}), {}}, {{1, 2, 0}, {3, 4, 1}}});
  use(MatchedParts{5, {}, {bytes_of({1}), bytes_of({2, 3})}, {{1, 0, {{1, -8}, {2, 8}}}, {3, 1, {}}}});
  use(MatchedParts{5, failure, {}, {}});
  use(Fetch{5, 9, 1, {{4096, {part, {}}}, {64, {}}}});
  use(Fetch{5, 9, 0, {}});
  use(FetchFailed{5, true, failure});
  use(Bring{5, 9, 7, true, {part, {}}});
  use(Brought{5, false, {}, {{{{0, 8, 16, 10, 64}}}, {{}}}});
  use(Brought{5, true, failure, {}});
  use(ReadMemory{5, {{10, 64, 4096}, {11, 0, 1}}, {12, 13}, {}});
  use(ReadMemory{5, {}, {}, FileRange{9, 64, 4096}});
  use(MemoryRead{5, {}, bytes_of({1, 2, 3}), {4096, 0100640, 7, 8, 2, 1000, 5}, {bytes_of({4}), {}}});
}

/// Calls `use` with one example of every message.
template <class Use>
void for_every_message(Use use) {
  const Member member{77, 3, 4};
  const DatasetKey key{2, "out/f.nc"};
  use(Hello{protocol_version, "1.2.3", 42, 4711, "model"});
  use(Welcome{protocol_version, "1.2.3", 1});
  use(Open{key, member, "/out/f.nc", Purpose::create, {}, 5, true, true, true, true});
  use(OffersNotice{10, 2, 3, 4, 11});
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
  use(Close{Discard{9, StepEnd::untouched}});
  use(Close{Discard{0, StepEnd::lost, "it was killed", {3, "/x/a.nc"}}});
  use(Close{Discard{9, StepEnd::aborted, "it was removed"}});
  use(Open{key,
           member,
           {},
           Purpose::read,
           Open::Which::last,
           1,
           false,
           false,
           false,
           false,
           true,
           9,
           Open::Form::bytes,
           true,
           {8, 10}});
  use(DiskRequest{9, 4096, 3, "no space left"});
  use(Done{4});
  use(SegmentRequest{9, SegmentUse::table, 4096});
  use(SegmentRequest{9, SegmentUse::data, 4096, 4096, {}, true});
  use(SegmentRequest{9, SegmentUse::file, 4096, 4096, {}, false, true});
  use(Batch{{{MessageType::header, 7, bytes_of({1, 2})}, {MessageType::need_segment, 8, {}}}});
  use(SegmentRequest{9, SegmentUse::data, 4096, 8192, {"/logs/a.meta", 65536, true}});
  use(SegmentGrant{10, 8192, true, 4096, true, false, 7});
  use(HeaderRequest{9, bytes_of({0, 255}), {1, 2}});
  use(Close{PublishRequest{9,
                           12,
                           some_counters(),
                           {{1, 2}, 3, 4, true, 6},
                           {{0, 8, 16, 10, 64}},
                           {2, 64},
                           {},
                           {},
                           {true, 5, {{1, 2, 3}}},
                           7}});
  use(SyncRequest{9, {}});
  use(PutNotice{9});
  use(LogNotice{"/logs/a.meta", true});
  use(Note{CopyNotice{3, 9, true, false}});
  use(Note{Complaint{2, "a.nc was written as a file of another format"}});
  use(Close{ReadEnd{9, some_counters(), {{1, 2, 3}, {4, 5, 6}}}});
  use(some_get());
  use(Plans{{{0, 8, 16, 10, 64}, {1, 0, 1, 2, 3}}, bytes_of({4}), 5, {{1, {{2, -3}}}, {0, {}}}});
  use(OpenFile{key, "/a b", true, 0x241, 0644, 3, true});
  const OpenFile file{key, "/a b", false, 0x241, 0644, 1, false, false, true, true};
  use(OpenFile{file});
  use(OpenFile{key, "/a b", false, 0x241, 0644, 1, false, false, false, false, true});
  use(OpenFile{key, "/a b", false, 0x241, 0644, 1, false, false, false, false, false, true, "/logs"});
  use(NameFile{NameFile::How::exchange, file, {key, "/c"}, true});
  use(AwaitFile{{1ULL << 40, 2}});
  use(AwaitFile{{2, 1ULL << 40}, true});
  use(FileOpened{true, 2, 3});
  use(FileHolder{true, {{1, 1ULL << 40}, {1ULL << 40, 2}}, true});
  use(FileHolder{false, {{1, 1ULL << 40}}, false, {{0, 4096, 1ULL << 40, 1ULL << 41}}});
  use(ImageMade{4096, "/data/a.nc"});
  use(ListRequest{"/out", true, key, 3, "model", true});
  use(some_listing());
  use(WatchRequest{true, 7, true});
  use(some_run_view());
  use(ErrorReply{-68, "what, where, what to do"});
  use(DropSegments{{1, 2, 3}});
  use(some_coordinator_hello());
  use(ComponentExited{"model", "exited with status 1", true});
  use(FilePublished{"picture", 7, "/run/wave_1.nc", 3});
  use(JobNote{"picture", 7, JobNote::State::done});
  use(ComponentSettled{"model", true});
  use(some_report());
  use(EventNotice{"a line", true});
  use(Note{OrdinaryFile{1, "/place/a.nc", true, 6}});
  for_every_message_to_registry(use);
  use(Note{Gathering{key, Gathering::Call::access, 1, 2, 77, 3, 1, 5000, true}});
  use(FetchSegment{10});
  for_every_message_to_matcher(use);
  for_every_exchange_packet(use);
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
  CHECK(decode<Open>(encode(Open{{2, "out/f.nc"}, {1, 2, 3}, {}, Purpose::create, {}, 5})).key ==
        DatasetKey{2, "out/f.nc"});
}

TEST_CASE("the bytes of a message are as the protocol says") {
  Open open{{1, "f"}, {2, 3, 4, true}, "/f", Purpose::write, Open::Which::last, 5, true, true};
  open.is_on_disk = true;
  open.continues = 9;
  open.wants = Open::Form::bytes;
  CHECK(encode(open) == bytes_of({1, 0, 0, 0, 1, 0, 0, 0, 'f', 2,   0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4,
                                  0, 0, 0, 1, 2, 0, 0, 0, '/', 'f', 1, 4, 5, 1, 1, 0, 0, 1, 9, 0, 0, 0,
                                  0, 0, 0, 0, 1, 0, 0, 0, 0,   0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(encode(HeaderRequest{1, bytes_of({9}), {2, 3}}) ==
        bytes_of({1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9,
                  2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
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
  std::mt19937 random(test::test_seed());
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
  auto fields = encode(ErrorReply{1, "f"});
  fields[4] = std::byte{200};
  CHECK_THROWS_WITH_AS((void)decode<ErrorReply>(fields),
                       "damaged message ErrorReply: 200 bytes, fewer are left at byte 8 of 9", Error);
  CHECK_THROWS_AS((void)decode<SegmentRequest>(encode(SegmentRequest{1, static_cast<SegmentUse>(4), 1})),
                  Error);
}

TEST_CASE("a control message of a kind that there is not is an error") {
  auto fields = encode(MessageToRegistry{3, RoundDone{4}});
  CHECK(is_round_done(fields));
  CHECK_FALSE(is_round_done(encode(MessageToRegistry{3, ConnectionEnded{4}})));
  CHECK(std::get<RoundDone>(decode<MessageToRegistry>(fields).body).round == 4);
  fields[0] = std::byte{std::variant_size_v<RegistryBody>};
  CHECK_THROWS_AS((void)decode<MessageToRegistry>(fields), Error);
  auto view = encode(MessageToMatcher{3, View{2, 9, some_view()}});
  const auto decoded = decode<MessageToMatcher>(view);
  CHECK(std::get<View>(decoded.body).view->logs.at(0).ranges.at(0).segment == 10);
}

TEST_CASE("a list that promises four thousand million elements takes no memory for them") {
  const auto fields = bytes_of({255, 255, 255, 255, 0, 0, 0, 0});
  CHECK_THROWS_AS((void)decode<DropSegments>(fields), Error);
}
