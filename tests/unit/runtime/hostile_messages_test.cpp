// A whole server gets sequences of messages that the codec takes, with values that no sound client sends.
// It answers or ends the connection, and goes on serving others. More rounds: SLUICE_HOSTILE_ROUNDS=N.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "sluice/runtime/segment.hpp"
#include "support/seed.hpp"
#include "unit/runtime/hostile_fields.hpp"
#include "unit/runtime/live_matcher.hpp"
#include "unit/runtime/server_in_process.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

constexpr std::uint32_t watch_tag = 0xfeed;

/// A client that knows the protocol well, and keeps to nothing.
class HostileClient {
 public:
  HostileClient(std::mt19937_64& random, HostileWords& words, PacketSocket socket, std::string directory)
      : random_(random), words_(words), socket_(std::move(socket)), directory_(std::move(directory)) {
    odds_ = std::uint64_t{2} << below(6);
  }

  /// Sends hello and some bursts of messages. After each burst the server must answer a sound question,
  /// unless it has ended the connection.
  void run() {
    try {
      constexpr int bursts = 12;
      hello();
      for (int i = 0; i < bursts; ++i) {
        for (auto n = 1 + below(6); n > 0; --n) send_one();
        if (!ask_soundly()) return;
      }
    } catch (const Error&) {
      // The server has ended the connection.
    }
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  std::uint64_t step() { return one_of(words_.numbers); }
  std::uint32_t tag() { return static_cast<std::uint32_t>(1 + below(100)); }

  void hello() {
    Hello hello{protocol_version, std::string(library_version), below(3), 4711, "fuzzer"};
    is_attached_ = below(6) == 0;
    if (is_attached_) hello.component = matcher::attached_name;
    if (below(8) == 0) spoil(hello);
    socket_.send({MessageType::hello, 1, encode(hello)});
    if (!socket_.receive()) throw Error(NC_EIO, "no welcome");
  }

  template <class Message>
  void spoil(Message& message) {
    HostileFields fields_of(random_, words_, odds_);
    fields(fields_of, message);
  }
  template <class Message>
  std::vector<std::byte> spoilt(Message message) {
    spoil(message);
    return encode(message);
  }

  DatasetKey key() { return {static_cast<std::uint32_t>(below(9)), one_of(words_.names)}; }
  Member member() {
    const auto size = static_cast<std::uint32_t>(1 + below(2));
    return {1 + below(4), static_cast<std::uint32_t>(below(size)), size, false};
  }
  OpenFile file() {
    OpenFile request{key(), directory_ + "/" + one_of(words_.names), false, O_RDWR | O_CREAT, 0600};
    if (below(4) == 0) request.flags |= O_TRUNC;
    request.is_in_files = below(6) == 0;
    request.is_in_place = request.is_in_files && below(2) == 0;
    return request;
  }
  FileIdentity identity() {
    if (files_.empty()) return {step(), step()};
    struct stat facts {};
    (void)::fstat(files_[below(files_.size())].number(), &facts);
    return {facts.st_dev, facts.st_ino};
  }
  Get get() {
    const auto number = [&] { return static_cast<std::int64_t>(below(5)); };
    Get request{step()};
    request.lists.push_back({1, 2, below(3) == 0, {number(), number(), number(), number()}});
    if (request.lists[0].has_strides) request.lists[0].numbers.insert(request.lists[0].numbers.end(), {1, 1});
    request.accesses.push_back({0, 0});
    request.is_by_writer = below(2) == 0;
    return request;
  }
  PublishRequest publish() {
    PublishRequest request;
    request.step = step();
    request.record_count = static_cast<std::int64_t>(below(3));
    request.position = {1, 8 * below(9), below(2)};
    request.ranges.push_back({0, 0, 4096, step(), 0});
    return request;
  }

  struct Part {
    MessageType type;
    std::vector<std::byte> fields;
  };
  Open bytes(Open open) {
    open.wants = Open::Form::bytes;
    open.is_kept = below(2) == 0;
    return open;
  }
  Open::Which which() { return static_cast<Open::Which>(below(3) == 0 ? below(5) : 0); }
  Open of_step(Open open) {
    open.taken.step = step();
    return open;
  }
  Part message_of_steps() {
    switch (below(12)) {
      case 0:
      case 1:
        return {MessageType::open, spoilt(Open{key(), member(), {}, Purpose::create, {}, 5, below(2) == 0})};
      case 2:
        return {MessageType::open, spoilt(Open{key(), member(), {}, Purpose::write})};
      case 3:
        return {MessageType::open, spoilt(Open{key(), member(), {}, Purpose::read, which()})};
      case 4:
      case 5:
        return {MessageType::need_segment,
                spoilt(SegmentRequest{step(), static_cast<SegmentUse>(below(4)), 4096U << below(8)})};
      case 6:
        return {MessageType::header, spoilt(HeaderRequest{step(), header_of({4, 4})})};
      case 7:
        return {MessageType::close, spoilt(Close{publish()})};
      case 8:
        return {MessageType::close, spoilt(Close{Discard{step()}})};
      case 9:
        return {MessageType::close, spoilt(Close{ReadEnd{step(), {}}})};
      case 10:
        return {MessageType::get, spoilt(get())};
      default:
        return {MessageType::sync, spoilt(SyncRequest{step(), {{1, 8, 0}, 1}})};
    }
  }
  Part message_of_files() {
    switch (below(11)) {
      case 0:
      case 1:
      case 2:
        return {MessageType::open_file, spoilt(file())};
      case 3:
        return {MessageType::file_holders, spoilt(FileHolder{below(2) == 0, {identity()}, below(8) == 0})};
      case 4:
        return {MessageType::open,
                spoilt(bytes({key(), {}, directory_ + "/" + one_of(words_.names), Purpose::remove}))};
      case 5:
        return {MessageType::name_file,
                spoilt(NameFile{static_cast<NameFile::How>(below(4)), file(), file(), below(4) == 0})};
      case 6:
        return {MessageType::await_file, spoilt(AwaitFile{identity(), below(2) == 0})};
      case 7:
        return {MessageType::open,
                spoilt(Open{key(), {}, directory_ + "/x", below(2) == 0 ? Purpose::hide : Purpose::change})};
      case 8:
        return {MessageType::list, spoilt(ListRequest{directory_, true, {}, {}, {}, true})};
      case 9:
        return {MessageType::open, spoilt(bytes({key(), member()}))};
      default:
        if (!is_attached_)
          return {MessageType::list, spoilt(ListRequest{directory_, false, {}, {}, {}, true})};
        return {MessageType::open, spoilt(bytes({key(), member(), directory_ + "/x"}))};
    }
  }
  Part other_message() {
    switch (below(14)) {
      case 0:
        return {MessageType::open, spoilt(Open{key(), {}, {}, Purpose::remove})};
      case 1:
        return {MessageType::put_notice, spoilt(PutNotice{step()})};
      case 2:
        return {MessageType::log_notice, spoilt(LogNotice{directory_ + "/log", below(2) == 0})};
      case 3:
        return {MessageType::open, spoilt(Open{key(), member(), {}, Purpose::describe})};
      case 4:
        return {MessageType::await_disk, spoilt(DiskRequest{step(), 4096, 0, "full"})};
      case 5:
        return {MessageType::note, spoilt(Note{OrdinaryFile{0, directory_ + "/x", true, 0, "fuzzer"}})};
      case 6:
        return {MessageType::note, spoilt(Note{Gathering{key(), Gathering::Call::open, 0, 2, 1, 0, 1, 5}})};
      case 7:
        return {MessageType::note, spoilt(Note{CopyNotice{1, step(), below(2) == 0, below(2) == 0}})};
      case 8:
        return {MessageType::note, spoilt(Note{Complaint{0, "it does not fit"}})};
      case 9:
        return {MessageType::open, spoilt(of_step(bytes({key(), member()})))};
      case 10:
        return {MessageType::list, spoilt(ListRequest{directory_, true})};
      case 11:
        return {MessageType::watch, spoilt(WatchRequest{true, 0, below(2) == 0})};
      case 12:
        return {MessageType::fetch_segment, spoilt(FetchSegment{step()})};
      default:
        return {below(2) == 0 ? MessageType::batch : static_cast<MessageType>(below(110)),
                std::vector<std::byte>(below(20) == 0 ? 8 : 0)};
    }
  }
  Part message() {
    switch (below(4)) {
      case 0:
        return message_of_files();
      case 1:
        return other_message();
      default:
        return message_of_steps();
    }
  }
  Part batch() {
    Batch batch;
    for (auto n = below(5); n > 0; --n) {
      auto [type, part_fields] = message();
      batch.requests.push_back({type, tag(), std::move(part_fields)});
    }
    return {MessageType::batch, encode(batch)};
  }
  void send_one() {
    auto [type, message_fields] = below(10) == 0 ? batch() : message();
    constexpr std::uint64_t often_twice = 12;
    if (below(often_twice) == 0) socket_.send({type, tag(), message_fields});
    socket_.send({type, tag(), std::move(message_fields)});
  }

  bool ask_soundly() {
    socket_.send({MessageType::watch, watch_tag, encode(WatchRequest{})});
    while (auto answer = socket_.receive()) {
      if (answer->tag == watch_tag && answer->type == MessageType::run_view) return true;
      take(*answer);
    }
    return false;
  }

  void take(ReceivedMessage& answer) {
    switch (answer.type) {
      case MessageType::opened: {
        const auto opened = decode<Opened>(answer.fields);
        words_.add(opened.step);
        if (opened.control != 0) words_.add(opened.control);
        return;
      }
      case MessageType::segment:
        return take_segment(answer);
      case MessageType::file_opened:
        if (!answer.descriptors.empty()) take_file(std::move(answer.descriptors[0]));
        return;
      default:
        return;
    }
  }
  /// Fills the segment with nonsense: it may be a table, data, or a control block.
  void take_segment(ReceivedMessage& answer) {
    const auto grant = decode<SegmentGrant>(answer.fields);
    words_.add(grant.segment);
    if (grant.has_descriptor && !answer.descriptors.empty())
      memory_.insert_or_assign(grant.file, std::move(answer.descriptors[0]));
    const auto file = memory_.find(grant.file);
    if (file == memory_.end() || grant.bytes == 0) return;
    const Mapping mapping(file->second, {grant.bytes, grant.offset_bytes, false, grant.file},
                          Mapping::Access::read_write);
    const auto memory = mapping.writable();
    constexpr std::size_t touched = 1024;
    const std::size_t words = std::min(memory.size(), touched) / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t word = below(3) == 0 ? step() : random_() >> below(64);
      if (below(3) != 0) std::memcpy(memory.data() + i * sizeof word, &word, sizeof word);
    }
  }
  /// Writes a file with damaged numbers into the descriptor, or makes it very long.
  void take_file(FileDescriptor file) {
    auto bytes = header_of({1 << 20, 1 << 20});
    constexpr std::uint64_t numbers = 40;
    for (auto n = below(4); n > 0; --n)
      bytes[below(std::min<std::uint64_t>(numbers, bytes.size()))] = static_cast<std::byte>(random_());
    if (below(3) != 0) (void)!::write(file.number(), bytes.data(), below(bytes.size() + 1));
    constexpr std::uint64_t longest_bits = 24;
    if (below(4) == 0) (void)!::ftruncate(file.number(), std::int64_t{1} << below(longest_bits));
    if (below(2) == 0) files_.push_back(std::move(file));
  }

  std::mt19937_64& random_;
  HostileWords& words_;
  PacketSocket socket_;
  std::string directory_;
  std::uint64_t odds_ = 2;
  bool is_attached_ = false;
  std::map<std::uint64_t, FileDescriptor> memory_;
  std::vector<FileDescriptor> files_;
};

/// Rules of all kinds, whose files only the hostile component writes and reads; and one of others.
std::vector<FileRule> all_kinds_of_rules() {
  std::vector<FileRule> rules{{"*.nc", "model", {"analysis"}}};
  for (const char* const name : {"plain", "sync", "write", "keep", "log", "file", "place", "stream"})
    rules.push_back({std::string(name) + "*", "fuzzer", {"fuzzer"}});
  rules[2].publish_at = PublishAt::sync;
  rules[3].publish_at = PublishAt::write;
  rules[4].keep = {true, {}};
  rules[5].through = matcher::Through::burst_buffer;
  rules[6].through = matcher::Through::ordered_file;
  rules[7].through = matcher::Through::file;
  rules[8].is_stream = true;
  rules[8].queue = 2;
  rules[8].when_full = matcher::WhenFull::discard;
  return rules;
}

HostileWords words_of(const std::string& directory) {
  HostileWords words;
  for (const auto& rule : all_kinds_of_rules())
    for (const char* const end : {"1", "2"})
      words.names.push_back(rule.pattern.substr(0, rule.pattern.size() - 1) + end);
  words.names.insert(words.names.end(),
                     {"", ".", "..", "a/b", "plain/", "//", std::string(5000, 'n'), "\xff\n",
                      std::string("a\0b", 3), "fuzzer", directory + "/plain1", "good.nc"});
  return words;
}

void expect_service(const ServerInProcess& server, int value) {
  const auto writer = server.session("model");
  const auto reader = server.session("analysis");
  write_file(*writer, "good.nc", {8, 8}, value);
  REQUIRE(read_file(*reader, "good.nc", {8, 8}) == std::vector<std::int32_t>(64, value));
}

int rounds() {
  const char* const text = std::getenv("SLUICE_HOSTILE_ROUNDS");
  constexpr int usual = 25;
  return text == nullptr ? usual : std::atoi(text);
}

void attack(std::uint64_t seed) {
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto directory = std::filesystem::current_path() / ("hostile-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  std::filesystem::current_path(directory);  // for names that are relative
  {
    CoordinatorHello hello;
    hello.rules = all_kinds_of_rules();
    hello.components = {{"model", 1}, {"analysis", 1}, {"fuzzer", 3}};
    hello.memory_bytes = 64 * mib;
    hello.retain_bytes = 8 * mib;
    hello.directory = directory;
    if (random() % 2 == 0) hello.spill_directory = directory;
    ServerInProcess server(hello);
    HostileWords words = words_of(directory);
    constexpr int clients = 12;
    for (int i = 0; i < clients; ++i) HostileClient(random, words, server.connection(), directory).run();
    server.end_component("fuzzer");
    expect_service(server, static_cast<int>(seed % 1000));
    server.end_component("model");
    server.end_component("analysis");
    CHECK(server.view().waits.empty());
    server.shut_down();
    if (std::getenv("SLUICE_HOSTILE_EVENTS") != nullptr) {
      for (const auto& event : server.events) std::printf("%s\n", event.c_str());
    }
  }
  std::filesystem::current_path(directory.parent_path());
  std::filesystem::remove_all(directory);
}

}  // namespace

TEST_CASE("a server goes on serving others whatever values the messages of a client have") {
  std::uint64_t seed = sluice::test::test_seed(1);
  for (int i = 0; i < rounds(); ++i) {
    std::printf("round of seed %ju\n", static_cast<std::uintmax_t>(seed));
    std::fflush(stdout);
    attack(seed++);
  }
}

TEST_CASE("a file without a name is refused, and its client goes on") {
  CoordinatorHello hello;
  hello.rules = all_kinds_of_rules();
  hello.components = {{"model", 1}, {"analysis", 1}, {"fuzzer", 3}};
  hello.memory_bytes = 64 * mib;
  ServerInProcess server(hello);
  const auto session = server.session("model");
  CHECK(status_of([&] { (void)session->open({{0, ""}, alone(), {}, Purpose::create, {}, 5}); }) == NC_EINVAL);
  CHECK(status_of([&] { (void)session->open({{0, ""}, alone()}); }) == NC_EINVAL);
  expect_service(server, 1);
}
