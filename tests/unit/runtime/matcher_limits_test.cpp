// A matcher that cannot spill, or that has no free descriptor.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "live_matcher.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

constexpr Shape large{1024, 1024};  // four times the memory
constexpr Shape small{2, 2};
/// No process can make files there.
constexpr const char* unusable = "/proc";

/// Sets TMPDIR of the matchers that a test starts.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& directory) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", directory.c_str(), 1);
  }
  ~TemporaryDirectory() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

 private:
  std::string before_;
};

/// While it lives, the matcher gets no further descriptor.
class NoDescriptors {
 public:
  explicit NoDescriptors(const LiveMatcher& matcher) : process_(matcher.process()) {
    REQUIRE(::prlimit(process_, RLIMIT_NOFILE, nullptr, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(::prlimit(process_, RLIMIT_NOFILE, &none, nullptr) == 0);
  }
  ~NoDescriptors() { ::prlimit(process_, RLIMIT_NOFILE, &before_, nullptr); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  pid_t process_;
  rlimit before_{};
};

/// A header that does not fit into a packet.
std::vector<std::byte> large_header() {
  const auto bytes = header_of(small);
  auto header = formats::decode_metadata(bytes, "wide.nc");
  constexpr std::size_t bytes_of_history = 200000;
  header.attributes.append(
      {"history", formats::Type::int8, bytes_of_history, std::vector<std::byte>(bytes_of_history)});
  formats::compute_layout(header, {}, nullptr);
  return formats::encode_header(header);
}

/// The processes that have a file open.
std::uint32_t users_of(LiveMatcher& matcher, const std::string& name) {
  matcher.settle();
  const auto answer = matcher.ask(MessageType::watch, encode(WatchRequest{}), MessageType::run_view);
  std::uint32_t users = 0;
  for (const auto& file : decode<RunView>(answer.fields).files) {
    for (const auto& user : file.users)
      users += file.name.find(name) == std::string::npos ? 0 : user.processes;
  }
  return users;
}

/// Writes v(row) = row in an order that makes as many pieces as rows.
void write_scattered(Session& session, const std::string& name, std::int64_t rows) {
  Writer writer(session, name, alone());
  writer.header({rows, 1});
  constexpr std::int64_t stride = 1237;  // a prime
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row = i * i % rows * stride % rows;
    writer.put(row, 0, 1, 1, {static_cast<std::int32_t>(row)});
  }
  writer.publish();
}

std::vector<ComponentSize> sizes() {
  return {{"model", 1}, {"analysis", 1}};
}

}  // namespace

TEST_SUITE("the limits of a matcher") {
  TEST_CASE("a node that cannot use the default directory spills to its TMPDIR, and says so") {
    const std::string here = std::filesystem::current_path().string();
    const TemporaryDirectory temporary(here);
    LiveMatcher matcher(one_rule(), mib, sizes(), {unusable, true});
    CHECK(matcher.has_event("spills data to " + here + " instead: "));
    CHECK(matcher.has_event(unusable));
    const auto model = matcher.session("model");
    write_file(*model, "large.nc", large, 3);
    CHECK(matcher.view().nodes.at(0).spilled_bytes > 0);
  }

  TEST_CASE("a node that can use neither spills nowhere: a put that is too large fails, and no other") {
    const TemporaryDirectory temporary("/no/such/directory");
    LiveMatcher matcher(one_rule(), mib, sizes(), {unusable, true});
    CHECK(matcher.has_event("cannot spill data to disk: "));
    CHECK(matcher.has_event("/no/such/directory"));
    const auto model = matcher.session("model");
    CHECK(status_of([&] { write_file(*model, "large.nc", large, 3); }) == NC_ENO_SPACE);
    write_file(*model, "small.nc", small, 4);
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "small.nc", small) == std::vector<std::int32_t>(4, 4));
  }

  TEST_CASE("a directory that the user has named is not exchanged for another") {
    const TemporaryDirectory temporary(std::filesystem::current_path().string());
    CHECK_THROWS_AS(LiveMatcher(one_rule(), mib, sizes(), {unusable, false}), Error);
  }

  TEST_CASE("a process whose connection gets no descriptor is told so, and others are served") {
    LiveMatcher matcher(one_rule());
    const auto model = matcher.session("model");
    write_file(*model, "before.nc", small, 1);
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "before.nc", small) == std::vector<std::int32_t>(4, 1));
    const auto second = matcher.session("analysis");
    second->connect();
    rlimit before{};
    REQUIRE(::prlimit(matcher.process(), RLIMIT_NOFILE, nullptr, &before) == 0);
    const std::filesystem::path descriptors = "/proc/" + std::to_string(matcher.process()) + "/fd";
    rlim_t highest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(descriptors))
      highest = std::max<rlim_t>(highest, std::stoul(entry.path().filename().string()));
    const rlimit few{highest + 1, before.rlim_max};
    REQUIRE(::prlimit(matcher.process(), RLIMIT_NOFILE, &few, nullptr) == 0);
    std::vector<std::unique_ptr<Session>> others;  // until no descriptor below the limit is free
    int status = NC_NOERR;
    std::string text;
    while (status == NC_NOERR && others.size() <= highest) {
      others.push_back(matcher.session("model"));
      try {
        others.back()->connect();
      } catch (const Error& error) {
        status = error.status();
        text = error.what();
      }
    }
    CHECK(status == NC_ENFILE);
    CHECK(text.find("no file descriptor left for another connection") != std::string::npos);
    CHECK(matcher.has_event("a connection cannot be accepted now"));
    // Messages to this client need no further descriptors.
    CHECK(read_file(*reader, "before.nc", small) == std::vector<std::int32_t>(4, 1));
    // A process that is connected gets files that it has not had.
    CHECK(read_file(*second, "before.nc", small) == std::vector<std::int32_t>(4, 1));
    others.clear();
    matcher.settle();
    REQUIRE(::prlimit(matcher.process(), RLIMIT_NOFILE, &before, nullptr) == 0);
    const auto late = matcher.session("model");
    write_file(*late, "after.nc", small, 3);
  }

  TEST_CASE("an open whose answer is large fails alone where the matcher has no descriptor") {
    LiveMatcher matcher(one_rule(), 64 * mib, sizes());
    const auto model = matcher.session("model");
    write_file(*model, "small.nc", small, 1);
    Writer wide(*model, "wide.nc", alone());
    wide.header(large_header());
    wide.put(0, 0, 2, 2, {1, 2, 3, 4});
    wide.publish();
    const auto reader = matcher.session("analysis");
    reader->connect();
    {
      const NoDescriptors none(matcher);
      CHECK(status_of([&] { (void)reader->open({{0, "wide.nc"}, alone()}); }) == NC_ENFILE);
      CHECK(read_file(*reader, "small.nc", small) == std::vector<std::int32_t>(4, 1));
    }
    CHECK(users_of(matcher, "wide.nc") == 0);
    CHECK(read_file(*reader, "wide.nc", small) == std::vector<std::int32_t>{1, 2, 3, 4});
  }

  TEST_CASE("a writer's open whose answer is large leaves the step before as it was") {
    LiveMatcher matcher(one_rule(), 64 * mib, sizes());
    const auto model = matcher.session("model");
    Writer wide(*model, "wide.nc", alone());
    wide.header(large_header());
    wide.put(0, 0, 2, 2, {1, 2, 3, 4});
    wide.publish();
    {
      const NoDescriptors none(matcher);
      CHECK(status_of([&] {
              (void)model->open({{0, "wide.nc"}, alone(), {}, Purpose::write});
            }) == NC_ENFILE);
    }
    CHECK(users_of(matcher, "wide.nc") == 0);
    const auto reader = matcher.session("analysis");
    CHECK(read_file(*reader, "wide.nc", small) == std::vector<std::int32_t>{1, 2, 3, 4});
  }

  TEST_CASE("a get whose answer is large fails alone where the matcher has no descriptor") {
    LiveMatcher matcher(one_rule(), 64 * mib, sizes());
    const auto model = matcher.session("model");
    constexpr std::int64_t rows = 20011;
    write_scattered(*model, "many.nc", rows);
    const auto reader = matcher.session("analysis");
    const Opened opened = reader->open({{0, "many.nc"}, alone()});
    const auto ranges = reader->step_logs(opened.step);  // as an open dataset has them
    {
      const NoDescriptors none(matcher);
      CHECK(status_of([&] { (void)get(*reader, opened.step, 0, 0, rows, 1); }) == NC_ENFILE);
      CHECK(get(*reader, opened.step, 0, 0, 1, 1) == std::vector<std::int32_t>{0});
    }
    const auto values = get(*reader, opened.step, 0, 0, rows, 1);
    CHECK(values.at(0) == 0);
    CHECK(std::ranges::count_if(values, [](std::int32_t value) { return value != fill_value; }) > rows / 3);
    reader->close({ReadEnd{opened.step, {}}});
  }

  TEST_CASE(
      "a file by the C library says where the matcher has no descriptor, and is published once it has one") {
    LiveMatcher matcher(one_rule(), 64 * mib, sizes());
    const PacketSocket writer = matcher.connection("model", 7);
    std::uint32_t tag = 1;
    const auto open_file = [&](const std::string& name, int flags) {
      const OpenFile request{{0, name}, name, false, static_cast<std::uint32_t>(flags), 0600};
      writer.send({MessageType::open_file, ++tag, encode(request)});
      return writer.receive().value();
    };
    const auto status_of_open = [&](const std::string& name, int flags) -> int {
      const ReceivedMessage answer = open_file(name, flags);
      if (answer.type != MessageType::error) return NC_NOERR;
      return decode<ErrorReply>(answer.fields).status;
    };
    const auto close = [&](FileDescriptor file) {
      struct stat facts {};
      REQUIRE(::fstat(file.number(), &facts) == 0);
      writer.send(
          {MessageType::file_holders, 0, encode(FileHolder{false, {{facts.st_dev, facts.st_ino}}, false})});
      file.reset();
    };
    close(std::move(open_file("done.nc", O_WRONLY | O_CREAT).descriptors.at(0)));
    matcher.settle();
    auto opened = open_file("open.nc", O_WRONLY | O_CREAT);
    {
      const NoDescriptors none(matcher);
      CHECK(status_of_open("done.nc", O_RDONLY) == NC_ENFILE);
      CHECK(status_of_open("done.nc", O_RDWR) == NC_ENFILE);
      CHECK(status_of_open("open.nc", O_WRONLY) == NC_ENFILE);
      CHECK(status_of_open("new.nc", O_WRONLY | O_CREAT) == NC_ENFILE);
      CHECK(matcher.has_event("the matcher has no file descriptor left. Raise the hard limit"));
      close(std::move(opened.descriptors.at(0)));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it is closed while there is none
    }
    const auto reader = matcher.session("analysis");
    const Opened step = reader->open({{0, "open.nc"}, alone()});  // waits until it is published
    CHECK(step.step != 0);
    reader->close({ReadEnd{step.step, {}}});
  }
}
