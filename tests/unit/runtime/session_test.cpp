// The client's session against a fake matcher, a thread of the test that answers as each case needs.
#include "sluice/runtime/session.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/version.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

/// Accepts connections, answers the handshake, and passes all other messages to `answer`. One thread for each
/// connection.
class FakeMatcher {
 public:
  using Answer = std::function<void(const PacketSocket&, const ReceivedMessage&)>;

  explicit FakeMatcher(Answer answer, std::string version = std::string(library_version))
      : answer_(std::move(answer)), version_(std::move(version)), listener_(listen_at(path())) {
    acceptor_ = std::thread([this] { accept(); });
  }
  ~FakeMatcher() {
    is_stopped_ = true;
    acceptor_.join();
    for (auto& thread : threads_) thread.join();
    ::unlink(path().c_str());
  }

  [[nodiscard]] static std::string path() { return "session_test_" + std::to_string(::getpid()); }
  [[nodiscard]] static ClientEnvironment environment() { return {path(), "model", {}}; }
  [[nodiscard]] int connections() const noexcept { return connections_; }

 private:
  void accept() {
    while (!is_stopped_) {
      pollfd wait{listener_.number(), POLLIN, 0};
      ::poll(&wait, 1, 10);
      if (auto socket = accept_connection(listener_)) {
        ++connections_;
        threads_.emplace_back(
            [this, connection = std::make_shared<PacketSocket>(std::move(*socket))] { serve(*connection); });
      }
    }
  }

  void serve(const PacketSocket& socket) {
    try {
      while (!is_stopped_) {
        ReceivedMessage message;
        switch (socket.try_receive(message)) {
          case PacketSocket::Outcome::closed:
            return;
          case PacketSocket::Outcome::would_block: {
            pollfd wait{socket.descriptor(), POLLIN, 0};
            ::poll(&wait, 1, 10);
            continue;
          }
          case PacketSocket::Outcome::received:
            break;
        }
        if (message.type == MessageType::hello) {
          socket.send({MessageType::welcome, message.tag, encode(Welcome{protocol_version, version_, 0})});
        } else {
          answer_(socket, message);
        }
      }
    } catch (const Error&) {
      // The client has gone, or the case ends the connection.
    }
  }

  Answer answer_;
  std::string version_;
  FileDescriptor listener_;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<int> connections_ = 0;
  std::thread acceptor_;
  std::vector<std::thread> threads_;
};

void no_answer(const PacketSocket&, const ReceivedMessage&) {}

std::string error_of(const std::function<void()>& work, Status status) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.status() == status);
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an exchange gives the answer, and one connection serves one exchange after the other") {
  FakeMatcher matcher([](const PacketSocket& socket, const ReceivedMessage& message) {
    const auto request = decode<Open>(message.fields);
    socket.send({MessageType::opened, message.tag, encode(Opened{request.member.group + 1, 2})});
  });
  Session session(FakeMatcher::environment());
  for (std::uint64_t i = 0; i < 10; ++i)
    CHECK(session.open({{0, "f"}, {i, 0, 1}, {}, Purpose::create, {}, 1}).step == i + 1);
  CHECK(matcher.connections() == 1);
  CHECK(session.is_alive());
}

TEST_CASE("a thread that sleeps in an open does not hold up another") {
  std::atomic<bool> is_published = false;
  FakeMatcher matcher([&](const PacketSocket& socket, const ReceivedMessage& message) {
    if (message.type == MessageType::open && decode<Open>(message.fields).purpose == Purpose::read) {
      while (!is_published) std::this_thread::yield();
      socket.send({MessageType::opened, message.tag, encode(Opened{1, 0, 1, 7, {}})});
    } else {
      socket.send({MessageType::done, message.tag, {}});
    }
  });
  Session session(FakeMatcher::environment());
  std::thread reader([&] { CHECK(session.open({{0, "f"}, {1, 0, 1}}).record_count == 7); });
  // The process keeps a second connection, so the matcher does not count it as waiting.
  while (matcher.connections() < 2) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) session.remove({0, "g"});
  is_published = true;
  reader.join();
}

TEST_CASE("a refused request gets status and text, and the connection stays") {
  FakeMatcher matcher([](const PacketSocket& socket, const ReceivedMessage& message) {
    const bool is_first = decode<Open>(message.fields).key.rule == 0;
    const ErrorReply reply{is_first ? NC_ENOENT : 12345, "nobody writes it"};
    socket.send({MessageType::error, message.tag, encode(reply)});
  });
  Session session(FakeMatcher::environment());
  CHECK(error_of([&] { session.remove({0, "f"}); }, NC_ENOENT) == "nobody writes it");
  CHECK(error_of([&] { session.remove({1, "f"}); }, NC_EIO) == "nobody writes it");
  CHECK(matcher.connections() == 1);
}

TEST_CASE(
    "what is asked in one breath is answered in any order, and a refusal of memory ahead is none of it") {
  std::vector<MessageType> seen;
  FakeMatcher matcher([&](const PacketSocket& socket, const ReceivedMessage& message) {
    const auto send = [&](MessageType type, std::uint32_t tag, std::vector<std::byte> fields) {
      socket.send({type, tag, std::move(fields)});
    };
    if (message.type == MessageType::header) return send(MessageType::done, message.tag, {});
    REQUIRE(message.type == MessageType::batch);
    auto all = decode<Batch>(message.fields).requests;
    std::reverse(all.begin(), all.end());
    for (const auto& part : all) {
      seen.push_back(part.type);
      if (part.type == MessageType::header && all.size() == 2)
        send(MessageType::error, part.tag, encode(ErrorReply{NC_EIO, "it is no more"}));
      else if (part.type == MessageType::header)
        send(MessageType::done, part.tag, {});
      else
        send(MessageType::error, part.tag, encode(ErrorReply{NC_ENO_SPACE, "later"}));
    }
  });
  Session session(FakeMatcher::environment());
  const HeaderRequest header{1, std::vector<std::byte>(10)};
  const std::vector<SegmentRequest> two{{1, SegmentUse::table, 100, 100, {}, true},
                                        {1, SegmentUse::data, 100, 100, {}, true}};
  CHECK(session.prepare(nullptr, {}).empty());
  CHECK(session.prepare(&header, {}).empty());
  const auto granted = session.prepare(&header, two);
  REQUIRE(granted.size() == 2);
  CHECK_FALSE(granted[0]);
  CHECK_FALSE(granted[1]);
  CHECK(seen == std::vector{MessageType::header, MessageType::need_segment, MessageType::need_segment});
  CHECK(contains(error_of([&] { (void)session.prepare(&header, std::span(two).first(1)); }, NC_EIO),
                 "it is no more"));
  CHECK(session.prepare(nullptr, two).size() == 2);
  CHECK(matcher.connections() == 1);
}

TEST_CASE("different versions are an error that names both sides") {
  FakeMatcher matcher(no_answer, "9.9.9");
  Session session(FakeMatcher::environment());
  const std::string text = error_of([&] { session.connect(); }, NC_EIO);
  CHECK(contains(text, "9.9.9"));
  CHECK(contains(text, library_version));
}

TEST_CASE("a matcher that is not there is an error that names its socket") {
  Session session({"no_such_socket", "model", {}});
  CHECK(contains(error_of([&] { session.connect(); }, NC_EIO), "no_such_socket"));
}

TEST_CASE("a matcher that dies in mid-exchange is an error at once, and so is every later call") {
  FakeMatcher matcher([](const PacketSocket&, const ReceivedMessage&) { throw Error(NC_EIO, "end"); });
  Session session(FakeMatcher::environment());
  const std::string text = error_of([&] { session.remove({0, "f"}); }, NC_EIO);
  CHECK(contains(text, "lost"));
  CHECK(contains(text, FakeMatcher::path()));
  CHECK(error_of([&] { session.close({PublishRequest{1, 0, {}}}); }, NC_EIO) == text);
  CHECK_FALSE(session.is_alive());
  CHECK(matcher.connections() == 1);
}

TEST_CASE("an answer of another type, or of damaged fields, is an error") {
  FakeMatcher matcher([](const PacketSocket& socket, const ReceivedMessage& message) {
    if (message.type == MessageType::get) return socket.send({MessageType::plans, message.tag, {}});
    socket.send({MessageType::opened, message.tag, {}});
  });
  Session session(FakeMatcher::environment());
  CHECK(contains(error_of([&] { (void)session.get({1, {}}); }, NC_EIO), "damaged message"));
  CHECK(contains(error_of([&] { session.remove({0, "f"}); }, NC_EIO), "no answer"));
}

TEST_CASE("segments are mapped once, found again without a descriptor, and dropped on notice") {
  std::atomic<int> grants = 0;
  const FileDescriptor file = create_segment(65536);
  FakeMatcher matcher([&](const PacketSocket& socket, const ReceivedMessage& message) {
    if (message.type == MessageType::open) {
      socket.send({MessageType::drop_segments, 0, encode(DropSegments{{42}})});
      return socket.send({MessageType::done, message.tag, {}});
    }
    const bool is_first = grants++ == 0;
    const std::vector<int> descriptors(is_first ? 1 : 0, file.number());
    socket.send({MessageType::segment, message.tag, encode(SegmentGrant{42, 65536, is_first}), descriptors});
  });
  Session session(FakeMatcher::environment());
  const auto first = session.need_segment({1, SegmentUse::data, 60000});
  first.memory[100] = std::byte{5};
  const auto second = session.need_segment({2, SegmentUse::data, 60000});
  CHECK(second.memory.data() == first.memory.data());
  const Mapping check(file, {65536}, Mapping::Access::read);
  CHECK(check.bytes()[100] == std::byte{5});
  CHECK_THROWS_AS((void)session.need_segment({2, SegmentUse::data, 70000}), Error);
  session.remove({0, "f"});
  // The same grant without a descriptor is now an error of the matcher. The memory remains for its users.
  CHECK_THROWS_AS((void)session.need_segment({3, SegmentUse::data, 60000}), Error);
  CHECK(first.memory[100] == std::byte{5});
}

TEST_CASE("log ranges are read over segments that came as notices, cut where a later range takes over") {
  const FileDescriptor file = create_segment(65536 + 4096);
  {
    const Mapping mapping(file, {65536, 4096}, Mapping::Access::read_write);
    for (std::size_t i = 0; i < 65536; ++i) mapping.writable()[i] = static_cast<std::byte>(i / 256);
  }
  FakeMatcher matcher([&](const PacketSocket& socket, const ReceivedMessage& message) {
    const std::vector<int> descriptors(1, file.number());
    socket.send({MessageType::segment, 0, encode(SegmentGrant{9, 65536, true, 4096}), descriptors});
    const Plans plans{{{1, 0, 1000, 9, 0}, {1, 500, 300, 9, 2560}, {0, 64, 8, 9, 65528}}, {}};
    socket.send({MessageType::plans, message.tag, encode(plans)});
  });
  Session session(FakeMatcher::environment());
  const auto logs = session.step_logs(3);
  CHECK(session.step_logs(3) == logs);
  logs->add(session.get({3, {}}).ranges);
  LogRangeMap::Reader reader(*logs);
  CHECK(reader.at(1, 0).size() == 500);
  CHECK(reader.at(1, 499).size() == 1);
  CHECK(reader.at(1, 500).size() == 300);
  CHECK(reader.at(1, 500)[0] == std::byte{10});
  CHECK(reader.at(0, 70).size() == 2);
  CHECK(reader.at(0, 70)[0] == std::byte{255});
}

TEST_CASE("log ranges in an answer are known before its connection is used again") {
  const auto file = create_segment(4096);
  FakeMatcher matcher([&](const PacketSocket& socket, const ReceivedMessage& message) {
    const std::vector<int> descriptors(1, file.number());
    const bool is_open =
        message.type == MessageType::open && decode<Open>(message.fields).purpose == Purpose::read;
    const std::uint64_t segment = is_open ? 8 : 9;
    socket.send({MessageType::segment, 0, encode(SegmentGrant{segment, 4096, true, 0}), descriptors});
    const std::vector<LogRange> ranges{{is_open ? 1U : 2U, 0, 1000, segment, 0}};
    if (is_open) {
      Opened opened;
      opened.step = 3;
      opened.ranges = ranges;
      socket.send({MessageType::opened, message.tag, encode(opened)});
    } else {
      socket.send({MessageType::plans, message.tag, encode(Plans{ranges, {}})});
    }
  });
  Session session(FakeMatcher::environment());
  CHECK(session.open({{0, "f"}, {}}).step == 3);  // no process has the logs yet
  const auto logs = session.step_logs(3);
  (void)session.get({3, {}});
  LogRangeMap::Reader reader(*logs);
  CHECK(reader.holds(1, 0, 1000));
  CHECK(reader.holds(2, 0, 1000));
}

TEST_CASE("a log range outside of its segment is an error") {
  SegmentCache segments;
  segments.add({1, 4096, true}, create_segment(4096));
  LogRangeMap logs(segments);
  for (const LogRange& range : {LogRange{0, 0, 4097, 1, 0}, LogRange{0, 0, 1, 1, 4096},
                                LogRange{0, 0, ~0ULL, 1, 8}, LogRange{~0U, 0, 8, 1, 0}}) {
    CHECK_THROWS_AS(logs.add(std::span(&range, 1)), Error);
  }
}

TEST_CASE("a forked child cannot use its parent's session, and disturbs nothing") {
  FakeMatcher matcher([](const PacketSocket& socket, const ReceivedMessage& message) {
    socket.send({MessageType::done, message.tag, {}});
  });
  Session session(FakeMatcher::environment());
  session.remove({0, "f"});
  const pid_t child = ::fork();
  if (child == 0) {
    bool is_refused = false;
    try {
      session.remove({0, "f"});
    } catch (const Error&) {
      is_refused = true;
    }
    ::_exit(is_refused && session.is_forked_child() ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  session.remove({0, "f"});
  CHECK_FALSE(session.is_forked_child());
}

namespace {

/// Sets a limit of this process for the life of the object.
class Limit {
 public:
  Limit(decltype(RLIMIT_NOFILE) resource, rlim_t value) : resource_(resource) {
    REQUIRE(::getrlimit(resource_, &before_) == 0);
    const rlimit limit{value, before_.rlim_max};
    REQUIRE(::setrlimit(resource_, &limit) == 0);
  }
  ~Limit() { ::setrlimit(resource_, &before_); }

 private:
  decltype(RLIMIT_NOFILE) resource_;
  rlimit before_{};
};

/// The lowest free descriptor.
rlim_t next_descriptor() {
  const FileDescriptor probe(::dup(0));
  return static_cast<rlim_t>(probe.number());
}

std::size_t address_space_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

/// Grants segments of one size, each with its own descriptor.
class SegmentGiver {
 public:
  explicit SegmentGiver(std::uint64_t bytes) : bytes_(bytes) {}
  void operator()(const PacketSocket& socket, const ReceivedMessage& message) {
    if (message.type == MessageType::batch) {
      for (const auto& request : decode<Batch>(message.fields).requests)
        (*this)(socket, {request.type, request.tag, request.fields, {}});
      return;
    }
    if (message.type == MessageType::header) return socket.send({MessageType::done, message.tag, {}});
    const FileDescriptor segment = create_segment(bytes_);
    const std::array<int, 1> descriptors{segment.number()};
    OutgoingMessage answer(MessageType::segment, message.tag, encode(SegmentGrant{++given, bytes_, true}),
                           descriptors);
    if (before_sending) before_sending();
    socket.send(answer);
  }

  std::uint64_t given = 0;
  std::function<void()> before_sending;

 private:
  std::uint64_t bytes_;
};

}  // namespace

TEST_CASE("a call for which no descriptor is free fails alone, before it has asked") {
  SegmentGiver giver(1 << 16);
  FakeMatcher matcher(std::ref(giver));
  Session session(FakeMatcher::environment());
  const auto first = session.need_segment({1, SegmentUse::data, 100, 100});
  {
    const Limit limit(RLIMIT_NOFILE, next_descriptor());
    const auto text = error_of(
        [&] {
          (void)session.need_segment({1, SegmentUse::data, 100, 100});
        },
        NC_ENFILE);
    CHECK(contains(text, "ulimit -n"));
    CHECK(session.is_alive());
  }
  CHECK(giver.given == 1);
  CHECK(session.need_segment({1, SegmentUse::data, 100, 100}).id == 2);
  CHECK(matcher.connections() == 1);
}

TEST_CASE("a descriptor that is used up while a call waits does not fail it") {
  SegmentGiver giver(1 << 16);
  std::vector<FileDescriptor> others;
  std::unique_ptr<Limit> limit;
  giver.before_sending = [&] { limit = std::make_unique<Limit>(RLIMIT_NOFILE, next_descriptor()); };
  FakeMatcher matcher(std::ref(giver));
  Session session(FakeMatcher::environment());
  session.connect();
  CHECK(session.need_segment({1, SegmentUse::data, 100, 100}).id == 1);
  limit.reset();
}

TEST_CASE("a segment that cannot be mapped fails its call alone, and is the next one's") {
  constexpr std::uint64_t bytes = std::uint64_t{1} << 33;
  SegmentGiver giver(bytes);
  FakeMatcher matcher(std::ref(giver));
  Session session(FakeMatcher::environment());
  const SegmentRequest request{1, SegmentUse::table, 100, 100};
  session.connect();
  {
    const Limit limit(RLIMIT_AS, address_space_bytes() + (std::size_t{1} << 30));
    (void)error_of([&] { (void)session.need_segment(request); }, NC_ENO_SPACE);
    (void)error_of([&] { (void)session.need_segment(request); }, NC_ENO_SPACE);
    const HeaderRequest header{1, {}};
    CHECK_FALSE(session.prepare(&header, std::span(&request, 1)).front().has_value());
  }
  CHECK(giver.given == 2);
  CHECK(session.need_segment(request).memory.size() == bytes);
  CHECK(session.need_segment(request).memory.size() == bytes);
  CHECK(giver.given == 2);
  CHECK(session.need_segment(request).id == 3);
}

TEST_CASE("a message of more than 1 GiB fails its call alone, and nothing of it is sent") {
  int messages = 0;
  FakeMatcher matcher([&](const PacketSocket& socket, const ReceivedMessage& message) {
    ++messages;
    socket.send({MessageType::done, message.tag, {}});
  });
  Session session(FakeMatcher::environment());
  session.connect();
  {
    const HeaderRequest header{1, std::vector<std::byte>((std::size_t{1} << 30) + 1)};
    const auto text = error_of([&] { (void)session.prepare(&header, {}); }, NC_EMAX_REQ);
    CHECK(contains(text, "split the call"));
  }
  session.sync({1, {{}, 0}});
  CHECK(messages == 1);
  CHECK(matcher.connections() == 1);
}

TEST_CASE("log ranges whose segment could not be mapped can be read once it is mapped") {
  SegmentCache segments;
  constexpr std::uint64_t bytes = std::uint64_t{1} << 33;
  segments.add({7, bytes, true}, create_segment(bytes));
  LogRangeMap logs(segments);
  const LogRange range{0, 0, 64, 7, 0};
  {
    const Limit limit(RLIMIT_AS, address_space_bytes() + (std::size_t{1} << 30));
    (void)error_of([&] { logs.add(std::span(&range, 1)); }, NC_ENO_SPACE);
    CHECK_FALSE(LogRangeMap::Reader(logs).holds(0, 0, 64));
  }
  logs.add({});
  CHECK(LogRangeMap::Reader(logs).holds(0, 0, 64));
}
