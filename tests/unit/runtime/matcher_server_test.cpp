#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <random>
#include <thread>

#include "support/seed.hpp"
#include "unit/runtime/live_matcher.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

TEST_SUITE("matcher: put and get") {
  TEST_CASE("processes of one component get what another one has put, with any decomposition") {
    LiveMatcher matcher(one_rule());
    const Shape shape{24, 30};
    std::vector<std::unique_ptr<Session>> writers;
    const std::uint64_t group = random_number();
    std::vector<std::unique_ptr<Writer>> parts;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      writers.push_back(matcher.session("model"));
      parts.push_back(std::make_unique<Writer>(*writers.back(), "a.nc", Member{group, rank, 3}));
      if (rank == 0) parts[0]->header(shape);
      std::vector<std::int32_t> values;
      for (std::int64_t i = 0; i < 8 * 30; ++i)
        values.push_back(static_cast<std::int32_t>(rank * 8 * 30 + i));
      parts[rank]->put(rank * 8, 0, 8, 30, values);
    }
    for (const auto& part : parts) part->publish();
    const auto reader = matcher.session("analysis");
    const Opened opened = reader->open({{0, "a.nc"}, alone()});
    CHECK(opened.header == header_of(shape));
    CHECK(opened.version == 5);
    const auto values = get(*reader, opened.step, 5, 7, 14, 9);
    for (std::int64_t y = 0; y < 14; ++y) {
      for (std::int64_t x = 0; x < 9; ++x) {
        CHECK(values[static_cast<std::size_t>(y * 9 + x)] == (y + 5) * 30 + x + 7);
      }
    }
  }

  TEST_CASE("unwritten elements read as the fill value") {
    LiveMatcher matcher(one_rule());
    const auto writer = matcher.session("model");
    Writer step(*writer, "a.nc", alone());
    step.header({2, 4});
    step.put(1, 1, 1, 2, {5, 6});
    step.publish();
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "a.nc", {2, 4}) == std::vector<std::int32_t>{-7, -7, -7, -7, -7, 5, 6, -7});
  }

  TEST_CASE("an open sleeps until the step is there") {
    LiveMatcher matcher(one_rule());
    std::atomic<int> got = 0;
    std::thread reader([&] {
      const auto session = matcher.session("analysis");
      got = read_file(*session, "a.nc", {1, 1})[0];
    });
    while (matcher.view().waits.empty()) std::this_thread::yield();
    CHECK(got == 0);
    CHECK(matcher.view().waits[0].component == "analysis");
    const auto writer = matcher.session("model");
    write_file(*writer, "a.nc", {1, 1}, 42);
    reader.join();
    CHECK(got == 42);
  }

  TEST_CASE("the writer reads its own step as it grows, over many segments") {
    LiveMatcher matcher(one_rule(), 256 * mib);
    const auto session = matcher.session("model");
    Writer step(*session, "a.nc", alone());
    const std::int64_t columns = 100000;
    step.header({60, columns});
    for (std::int64_t row = 0; row < 60; ++row) {
      step.put(row, 0, 1, columns, std::vector<std::int32_t>(columns, static_cast<std::int32_t>(row)));
      const auto values = get(*session, step.step, 0, columns - 1, row + 1, 1);
      for (std::int64_t i = 0; i <= row; ++i) REQUIRE(values[static_cast<std::size_t>(i)] == i);
    }
    const auto all = get(*session, step.step, 0, 0, 60, columns);
    for (std::int64_t i = 0; i < 60 * columns; ++i) {
      if (all[static_cast<std::size_t>(i)] != i / columns)
        REQUIRE(all[static_cast<std::size_t>(i)] == i / columns);
    }
    step.publish();
  }

  TEST_CASE("step after step uses the same memory") {
    LiveMatcher matcher(one_rule(), 32 * mib, {{"model", 1}, {"analysis", 1}});
    const auto writer = matcher.session("model");
    const auto reader = matcher.session("analysis");
    for (int i = 1; i <= 40; ++i) {
      write_file(*writer, "wave_" + std::to_string(i) + ".nc", {512, 1024}, i);
      const auto values = read_file(*reader, "wave_" + std::to_string(i) + ".nc", {512, 1024});
      REQUIRE(values.front() == i);
      REQUIRE(values.back() == i);
    }
    const StatusReport report = matcher.shut_down();
    CHECK(matcher.exit_status == 0);
    CHECK(report.datasets.size() == 40);
    CHECK(report.bytes_staged_peak <= 16 * mib);
  }

  TEST_CASE("a file that is reopened for every row holds all of them, in little memory") {
    LiveMatcher matcher(one_rule(), 64 * mib);
    const auto session = matcher.session("model");
    const auto reader = matcher.session("analysis");
    constexpr std::int64_t rows = 200;
    constexpr std::int64_t columns = 1000;
    write_file(*session, "a.nc", {rows, columns}, 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Opened opened = session->open({{0, "a.nc"}, alone(), {}, Purpose::write});
      WriteLog log(*session, opened.step, LogSize{columns * sizeof(std::int32_t), 100});
      const auto room = log.reserve(columns * sizeof(std::int32_t));
      const std::vector<std::int32_t> values(columns, static_cast<std::int32_t>(row + 1));
      log.store(room, values.data(), columns * sizeof(std::int32_t));
      const std::array<std::int64_t, 2> start{row, 0};
      const std::array<std::int64_t, 2> count{1, columns};
      log.append_request(0, log.next_sequence(), room.log_offset, {start, count, {}});
      log.commit();
      log.finish();
      session->close({PublishRequest{opened.step, 0, {}}});
      if (row % 50 != 0) continue;
      const auto all = read_file(*reader, "a.nc", {rows, columns});
      for (std::int64_t i = 0; i < rows; ++i) {
        REQUIRE(all[static_cast<std::size_t>(i * columns + i)] == (i <= row ? i + 1 : 0));
      }
    }
    CHECK(matcher.shut_down().bytes_staged_peak < 32 * mib);
  }

  TEST_CASE("sizes that change at the limit of memory take the place of others, and clients follow") {
    LiveMatcher matcher(one_rule(), 8 * mib);
    const auto writer = matcher.session("model");
    const auto reader = matcher.session("analysis");
    std::mt19937 random(sluice::test::test_seed(7));
    for (int i = 1; i <= 60; ++i) {
      const Shape shape{1 + static_cast<std::int64_t>(random() % 400), 1024};
      write_file(*writer, "a.nc", shape, i);
      const auto values = read_file(*reader, "a.nc", shape);
      REQUIRE(values.front() == i);
      REQUIRE(values.back() == i);
    }
  }
}

TEST_SUITE("matcher: connections") {
  TEST_CASE("libraries of two versions are told apart, and the error names both") {
    LiveMatcher matcher(one_rule());
    const PacketSocket socket = connect_to(matcher.path);
    Hello hello{protocol_version + 1, "9.9", 1, 2, "model"};
    socket.send({MessageType::hello, 1, encode(hello)});
    auto answer = socket.receive();
    REQUIRE(answer);
    REQUIRE(answer->type == MessageType::error);
    const auto text = decode<ErrorReply>(answer->fields).text;
    CHECK(text.find("9.9") != std::string::npos);
    CHECK(text.find(std::string(library_version)) != std::string::npos);
    hello = {protocol_version, std::string(library_version), 1, 2, "model"};
    socket.send({MessageType::hello, 2, encode(hello)});
    answer = socket.receive();
    CHECK(answer->type == MessageType::welcome);
  }

  TEST_CASE("a connection that does not begin with hello is closed, with an event") {
    LiveMatcher matcher(one_rule());
    const PacketSocket socket = connect_to(matcher.path);
    socket.send({MessageType::get, 1, encode(Get{})});
    CHECK_FALSE(socket.receive());
    CHECK(matcher.has_event("its first message is get"));
  }

  TEST_CASE("the socket is for this user alone, and is gone when the matcher is") {
    LiveMatcher matcher(one_rule());
    struct stat facts {};
    REQUIRE(::stat(matcher.path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);
    CHECK(matcher.end() == 0);
    CHECK(::stat(matcher.path.c_str(), &facts) != 0);
  }

  TEST_CASE("when the coordinator dies, the matcher ends and clients get an I/O error, in an open too") {
    LiveMatcher matcher(one_rule());
    std::atomic<int> status = 0;
    std::thread reader([&] {
      const auto session = matcher.session("analysis");
      status = status_of([&] { (void)session->open({{0, "a.nc"}, alone()}); });
    });
    while (matcher.view().waits.empty()) std::this_thread::yield();
    const auto writer = matcher.session("model");
    Writer step(*writer, "b.nc", alone());
    CHECK(matcher.end() == 0);
    reader.join();
    CHECK(status == NC_EIO);
    CHECK(status_of([&] { step.header({1, 1}); }) == NC_EIO);
  }

  TEST_CASE("a client that never takes its answers is closed, and others are served meanwhile") {
    LiveMatcher matcher(one_rule());
    const auto writer = matcher.session("model");
    const auto reader = matcher.session("analysis");
    const PacketSocket deaf = matcher.connection("analysis", 99);
    bool is_closed = false;
    for (int sent = 0; sent < 100000 && !is_closed;) {
      try {
        if (!deaf.try_send({MessageType::open, 1,
                            encode(Open{{0, "x"}, {}, {}, Purpose::remove})})) {  // full, or closed
          is_closed = !deaf.is_alive();
          std::this_thread::yield();
          continue;
        }
      } catch (const Error&) {
        is_closed = true;
      }
      if (sent++ % 1000 != 0) continue;
      write_file(*writer, "a.nc", {1, 1}, sent);
      REQUIRE(read_file(*reader, "a.nc", {1, 1})[0] == sent);
    }
    CHECK(is_closed);
    CHECK(matcher.has_event("does not read its answers"));
  }

  TEST_CASE("threads of one process each get a connection: one may sleep in open while another writes") {
    LiveMatcher matcher({{"a.nc", "model", {"analysis"}}, {"b.nc", "analysis", {"model"}}}, 64 * mib,
                        {{"model", 1}, {"analysis", 1}});
    const auto model = matcher.session("model");
    std::thread waiting([&] {
      const Opened opened = model->open({{1, "b.nc"}, alone()});
      model->close({ReadEnd{opened.step, {}}});
    });
    while (matcher.view().waits.empty()) std::this_thread::yield();
    write_file(*model, "a.nc", {4, 4}, 3);
    const auto analysis = matcher.session("analysis");
    CHECK(read_file(*analysis, "a.nc", {4, 4})[0] == 3);
    const auto created = analysis->open({{1, "b.nc"}, alone(), {}, Purpose::create, {}, 1});
    analysis->close({PublishRequest{created.step, 0, {}}});
    waiting.join();
  }

  TEST_CASE("a view is given at any time, and the status at shutdown holds the counters") {
    LiveMatcher matcher(one_rule());
    CHECK(matcher.view().rules.at(0).totals.steps == 0);
    const auto writer = matcher.session("model");
    const auto created = writer->open({{0, "a.nc"}, alone(), {}, Purpose::create, {}, 1});
    AccessCounters counters;
    counters.puts = 3;
    counters.put_bytes = 24;
    writer->close({PublishRequest{created.step, 0, counters}});
    const StatusReport report = matcher.shut_down();
    REQUIRE(report.datasets.size() == 1);
    CHECK(report.datasets[0].name == "a.nc");
    CHECK(report.datasets[0].steps_published == 1);
    CHECK(report.datasets[0].counters.put_bytes == 24);
    CHECK(matcher.exit_status == 0);
  }
}
