// Clients that die, and clients that send nonsense: the matcher goes on serving others.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include "sluice/matcher/request_table.hpp"
#include "support/seed.hpp"
#include "unit/runtime/live_matcher.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

/// A victim's session; it lives until the process is killed.
std::unique_ptr<Session> kept;

/// A process that runs a function and is then killed.
class Victim {
 public:
  explicit Victim(const std::function<void()>& deed) {
    auto line = connected_pair();
    process_ = ::fork();
    if (process_ == 0) {
      try {
        deed();
        line.second.send({MessageType::done, 0, {}});
      } catch (const std::exception&) {
        ::_exit(1);
      }
      for (;;) ::pause();
    }
    { const PacketSocket closed = std::move(line.second); }
    is_ready_ = line.first.receive().has_value();
  }
  ~Victim() { kill(); }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  bool is_ready() const { return is_ready_; }

 private:
  pid_t process_ = -1;
  bool is_ready_ = false;
};

void expect_service(LiveMatcher& matcher, Session& writer, Session& reader, std::int32_t value) {
  write_file(writer, "good.nc", {8, 8}, value);
  REQUIRE(read_file(reader, "good.nc", {8, 8}) == std::vector<std::int32_t>(64, value));
  (void)matcher;
}

/// A process writes the file by the C library, as libsluice_files lets it.
void write_by_c_library(const LiveMatcher& matcher, const std::string& name) {
  const PacketSocket writer = matcher.connection("model", 7);
  const OpenFile request{{0, name}, name, false, O_WRONLY | O_CREAT, 0600};
  writer.send({MessageType::open_file, 2, encode(request)});
  auto opened = writer.receive();
  REQUIRE(opened);
  REQUIRE(opened->type == MessageType::file_opened);
  const FileDescriptor file = std::move(opened->descriptors.at(0));
  REQUIRE(::write(file.number(), "x", 1) == 1);
  struct stat facts {};
  REQUIRE(::fstat(file.number(), &facts) == 0);
  writer.send(
      {MessageType::file_holders, 0, encode(FileHolder{false, {{facts.st_dev, facts.st_ino}}, false})});
}

/// Sends the bytes unchanged, as one packet.
bool send_raw(const PacketSocket& socket, const std::vector<std::byte>& packet) {
  return ::send(socket.descriptor(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

std::vector<std::byte> packet_of(MessageType type, std::uint32_t tag, const std::vector<std::byte>& fields) {
  std::vector<std::byte> packet(8 + fields.size());
  const auto code = static_cast<std::uint16_t>(type);
  std::memcpy(packet.data(), &code, sizeof code);
  std::memcpy(packet.data() + 4, &tag, sizeof tag);
  std::copy(fields.begin(), fields.end(), packet.begin() + 8);
  return packet;
}

}  // namespace

TEST_SUITE("matcher: killed clients") {
  TEST_CASE("a writer killed at any stage before publishing leaves nothing behind, and readers learn of it") {
    for (const std::string stage : {"hello", "create", "header", "put"}) {
      CAPTURE(stage);
      LiveMatcher matcher(one_rule());
      Victim victim([&] {
        kept = matcher.session("model");
        kept->connect();
        if (stage == "hello") return;
        Writer step(*kept, "a.nc", alone());
        if (stage != "create") step.header({4, 4});
        if (stage == "put") step.put(0, 0, 4, 4, std::vector<std::int32_t>(16, 1));
      });
      REQUIRE(victim.is_ready());
      const auto reader = matcher.session("analysis");
      int status = NC_NOERR;
      std::thread waiting([&] { status = status_of([&] { (void)reader->open({{0, "a.nc"}, alone()}); }); });
      while (matcher.view().waits.empty()) std::this_thread::yield();
      victim.kill();
      matcher.component_exited("model", "was killed by signal 9 (SIGKILL)");
      waiting.join();
      CHECK(status == NC_ENOENT);
      CHECK(matcher.has_event("was killed by signal 9"));
      CHECK(matcher.view().nodes.at(0).used_bytes == 0);
    }
  }

  TEST_CASE("a file that was published is there, even if its writer was killed the moment after") {
    LiveMatcher matcher(one_rule());
    for (int i = 0; i < 20; ++i) {
      const std::string name = "wave_" + std::to_string(i) + ".nc";
      Victim victim([&] {
        kept = matcher.session("model");
        write_file(*kept, name, {16, 16}, i);
      });
      victim.kill();
      matcher.component_exited("model", "was killed by signal 9 (SIGKILL)");
      const auto reader = matcher.session("analysis");
      CHECK(read_file(*reader, name, {16, 16}) == std::vector<std::int32_t>(256, i));
    }
  }

  TEST_CASE(
      "when one of two writers is killed the other gets an error, and the memory is free after its close") {
    LiveMatcher matcher(one_rule());
    const std::uint64_t group = random_number();
    const auto session = matcher.session("model");
    Writer survivor(*session, "a.nc", {group, 0, 2});
    survivor.header({4, 4});
    Victim victim([&] {
      kept = matcher.session("model");
      Writer step(*kept, "a.nc", {group, 1, 2});
      step.put(0, 0, 4, 4, std::vector<std::int32_t>(16, 1));
    });
    REQUIRE(victim.is_ready());
    CHECK(status_of([&] { (void)get(*session, survivor.step, 0, 0, 4, 4); }) == NC_NOERR);
    victim.kill();
    while (matcher.view().rules.at(0).totals.discarded == 0) std::this_thread::yield();
    CHECK(status_of([&] { (void)get(*session, survivor.step, 0, 0, 4, 4); }) == NC_EIO);
    CHECK(status_of([&] { survivor.put(0, 0, 4, 4, std::vector<std::int32_t>(16, 1)); }) == NC_EIO);
    survivor.publish();
    matcher.settle();
    CHECK(matcher.view().nodes.at(0).used_bytes == 0);
    const auto reader = matcher.session("analysis");
    expect_service(matcher, *session, *reader, 5);
  }

  TEST_CASE("a file that a program has got counts as read, even if it ended the moment after") {
    LiveMatcher matcher(one_rule());
    write_by_c_library(matcher, "a.nc");
    const auto begin_to_read = [&](std::uint64_t process) {
      PacketSocket reader = matcher.connection("analysis", process);
      Open open{{0, "a.nc"}, alone()};
      open.wants = Open::Form::bytes;
      reader.send({MessageType::open, 2, encode(open)});
      return reader;
    };
    REQUIRE(begin_to_read(1).receive()->type == MessageType::image_made);
    // It has been published, so the matcher gives it at once, and finds the end right behind the question.
    const PacketSocket last = begin_to_read(2);
    REQUIRE(::shutdown(last.descriptor(), SHUT_WR) == 0);
    const auto image = last.receive();
    REQUIRE(image);
    CHECK(image->type == MessageType::image_made);
    CHECK_FALSE(last.receive());
    const StatusReport report = matcher.shut_down();
    REQUIRE(report.datasets.size() == 1);
    CHECK(report.datasets[0].counters.opens == 2);
  }

  TEST_CASE("a reader killed while it waits, or with a file open, does not hinder the writer") {
    LiveMatcher matcher(one_rule(), 4 * mib);
    const auto writer = matcher.session("model");
    write_file(*writer, "a.nc", {512, 1024}, 1);
    {
      Victim victim([&] {
        kept = matcher.session("analysis");
        const Opened opened = kept->open({{0, "a.nc"}, alone()});
        (void)get(*kept, opened.step, 0, 0, 512, 1024);
      });
      REQUIRE(victim.is_ready());
    }
    const auto reader = matcher.session("analysis");
    for (int i = 0; i < 5; ++i) {
      write_file(*writer, "b.nc", {512, 512}, i);
      CHECK(read_file(*reader, "b.nc", {512, 512})[7] == i);
    }
  }
}

TEST_SUITE("matcher: damaged messages and tables") {
  TEST_CASE("packets cut, garbled or made up end their connection at most; others are served all the time") {
    std::mt19937 random(sluice::test::test_seed());
    LiveMatcher matcher({{"*.nc", "model", {"analysis"}}, {"bad*", "fuzzer", {"fuzzer"}}}, 64 * mib,
                        {{"model", 1}, {"analysis", 1}, {"fuzzer", 3}});
    const auto writer = matcher.session("model");
    const auto reader = matcher.session("analysis");
    const auto some = [&](std::uint64_t n) { return static_cast<std::uint64_t>(random() % n); };
    std::uint64_t step = 1;
    const auto sample = [&]() -> std::vector<std::byte> {
      const DatasetKey key{static_cast<std::uint32_t>(some(3)), "bad" + std::to_string(some(4))};
      const Member member{some(6), static_cast<std::uint32_t>(some(3)),
                          static_cast<std::uint32_t>(1 + some(2))};
      const auto tag = static_cast<std::uint32_t>(some(1000));
      switch (some(14)) {
        case 0:
          return packet_of(MessageType::hello, tag, encode(Hello{1, "x", some(3), 1, "fuzzer"}));
        case 1:
        case 2:
          return packet_of(MessageType::open, tag,
                           encode(Open{key, member, {}, Purpose::create, {}, 1, some(2) == 0}));
        case 3:
          return packet_of(MessageType::open, tag, encode(Open{key, member}));
        case 4:
          return packet_of(MessageType::open, tag, encode(Open{key, member, {}, Purpose::write}));
        case 5:
          return packet_of(
              MessageType::need_segment, tag,
              encode(SegmentRequest{some(step), static_cast<SegmentUse>(some(3)), random() >> some(32)}));
        case 6:
          return packet_of(MessageType::header, tag, encode(HeaderRequest{some(step), header_of({3, 3})}));
        case 7:
          return packet_of(MessageType::close, tag, encode(Close{PublishRequest{some(step), 1, {}}}));
        case 8:
          return packet_of(MessageType::close, tag, encode(Close{Discard{some(step)}}));
        case 9:
          return packet_of(MessageType::close, tag, encode(Close{ReadEnd{some(step), {}}}));
        case 10: {
          const auto number = [&] { return static_cast<std::int64_t>(random()) >> some(33); };
          Get get{some(step)};
          get.lists.push_back({1 + some(30) / 29, 2, false, {number(), number(), number(), 2}});
          get.accesses.push_back(
              {static_cast<std::int32_t>(some(2)), static_cast<std::uint32_t>(some(30) / 29)});
          return packet_of(MessageType::get, tag, encode(get));
        }
        case 11:
          return packet_of(MessageType::open, tag, encode(Open{key, {}, {}, Purpose::remove}));
        case 12: {
          const SegmentRequest ahead{some(step), static_cast<SegmentUse>(some(3)), some(1 << 20), 0, {},
                                     true};
          return packet_of(MessageType::batch, tag,
                           encode(Batch{{{MessageType::need_segment, tag, encode(ahead)},
                                         {static_cast<MessageType>(some(20)), tag + 1,
                                          encode(Close{ReadEnd{some(step), {}}})}}}));
        }
        default:
          return packet_of(static_cast<MessageType>(some(130)), tag, std::vector<std::byte>(some(40)));
      }
    };
    for (int round = 0; round < 150; ++round) {
      const PacketSocket socket = matcher.connection("fuzzer", some(3));
      for (int i = 0; i < 60; ++i) {
        auto packet = sample();
        if (some(4) == 0) packet.resize(some(packet.size()) + 1);
        for (std::uint64_t n = some(3) == 0 ? some(4) : 0; n > 0; --n) {
          packet[some(packet.size())] = static_cast<std::byte>(random());
        }
        if (!send_raw(socket, packet)) break;
        ReceivedMessage answer;
        try {
          while (socket.try_receive(answer) == PacketSocket::Outcome::received) {
            if (answer.type == MessageType::opened) step = decode<Opened>(answer.fields).step + 2;
          }
        } catch (const Error&) {
          break;
        }
      }
      if (round % 10 == 0) expect_service(matcher, *writer, *reader, round);
    }
    matcher.component_exited("fuzzer");
    expect_service(matcher, *writer, *reader, 1000);
    matcher.component_exited("model");
    matcher.component_exited("analysis");
    CHECK(matcher.view().waits.empty());
    matcher.shut_down();
    CHECK(matcher.exit_status == 0);
  }

  TEST_CASE("a request table full of nonsense makes gets fail with NC_EIO, and nothing else") {
    std::mt19937_64 random(sluice::test::test_seed());
    LiveMatcher matcher(one_rule());
    const auto session = matcher.session("model");
    const auto reader = matcher.session("analysis");
    for (int round = 0; round < 100; ++round) {
      const std::string name = "bad_" + std::to_string(round) + ".nc";
      Writer step(*session, name, alone());
      step.header({8, 8});
      step.put(0, 0, 8, 8, std::vector<std::int32_t>(64, 1));
      auto table = session->need_segment({step.step, SegmentUse::table, 4096});
      const auto words =
          std::span(reinterpret_cast<std::uint64_t*>(table.memory.data()), table.memory.size() / 8);
      for (std::size_t i = 1; i < 100; ++i) words[i] = random() >> (random() % 64);
      words[1] = 1 + random() % 4 + (2U << 16);
      words[0] = round % 3 == 0 ? random() : 8 * (1 + random() % 90);
      step.publish();
      const Opened opened = reader->open({{0, name}, alone()});
      const int status = status_of([&] { (void)get(*reader, opened.step, 0, 0, 8, 8); });
      CHECK((status == NC_NOERR || status == NC_EIO));
      reader->close({ReadEnd{opened.step, {}}});
      if (round % 10 == 0) expect_service(matcher, *session, *reader, round);
    }
  }

  TEST_CASE("a table that points into memory of others makes gets fail") {
    LiveMatcher matcher(one_rule());
    const auto session = matcher.session("model");
    write_file(*session, "secret.nc", {8, 8}, 77);
    Writer step(*session, "a.nc", alone());
    step.header({8, 8});
    auto table = session->need_segment({step.step, SegmentUse::table, 4096});
    matcher::TableWriter writer(table.memory.subspan(0, 4096));
    for (std::uint64_t segment = 1; segment < 4; ++segment) {
      matcher::TableEntry entry;
      entry.kind = matcher::EntryKind::segment;
      entry.segment_id = segment;
      entry.length_bytes = 256;
      REQUIRE(writer.append(entry));
    }
    writer.commit();
    CHECK(status_of([&] { (void)get(*session, step.step, 0, 0, 8, 8); }) == NC_EIO);
  }

  TEST_CASE("a damaged header makes gets fail, and nothing else") {
    LiveMatcher matcher(one_rule());
    const auto session = matcher.session("model");
    const auto reader = matcher.session("analysis");
    auto header = header_of({8, 8});
    Writer step(*session, "a.nc", alone());
    CHECK(status_of([&] { (void)get(*session, step.step, 0, 0, 8, 8); }) !=
          NC_NOERR);  // no element is written yet
    const Get request = sluice::test::get_request(step.step, 0, {{{0, 0}, {8, 8}, {}}});
    for (std::size_t i = 0; i < header.size(); ++i) {
      auto damaged = header;
      damaged[i] ^= std::byte{0x81};
      step.header(damaged);
      (void)status_of([&] { (void)session->get(request); });
    }
    step.header(header);
    CHECK(get(*session, step.step, 0, 0, 8, 8) == std::vector<std::int32_t>(64, fill_value));
    expect_service(matcher, *session, *reader, 3);
  }
}
