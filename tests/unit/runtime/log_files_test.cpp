// The files of burst-buffer logs that the matcher keeps.
#include "log_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sluice/storage/posix_file_system.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

/// A directory with one log.
struct LogDirectory {
  LogDirectory() {
    std::filesystem::create_directory(path);
    storage::PosixFileSystem system;
    for (const std::string& file : {metadata(), data()})
      system.open(file, storage::OpenMode::create)->write(0, std::vector<std::byte>(1 << 20, std::byte{1}));
  }
  ~LogDirectory() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string metadata() const { return path + "/a_1_0.meta"; }
  [[nodiscard]] std::string data() const { return path + "/a_1_0.data"; }
  [[nodiscard]] bool is_there() const {
    return std::filesystem::exists(metadata()) && std::filesystem::exists(data());
  }
  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(path); }

  std::string path = std::filesystem::absolute("log_files." + std::to_string(::getpid())).string();
};

constexpr std::uint64_t no_run = 0;

void at_once(const std::function<void()>& removal) {
  removal();
}

}  // namespace

TEST_CASE("a log goes with its last segment, and its space at once, whoever has it open") {
  const LogDirectory directory;
  const FileDescriptor reader(::open(directory.data().c_str(), O_RDONLY | O_CLOEXEC));
  LogFiles logs(at_once, no_run);
  (void)logs.add(1, {directory.metadata(), 0});
  (void)logs.add(2, {directory.metadata(), 4096});
  logs.release(1);
  CHECK(directory.is_there());
  struct stat facts {};
  REQUIRE(::fstat(reader.number(), &facts) == 0);
  REQUIRE(facts.st_blocks > 0);
  logs.release(2);
  CHECK(directory.is_empty());
  REQUIRE(::fstat(reader.number(), &facts) == 0);
  CHECK(facts.st_blocks == 0);
  CHECK(facts.st_size == 1 << 20);  // an existing mapping does not change
}

TEST_CASE("a log that may have to be recovered stays until it is said that it need not be") {
  const LogDirectory directory;
  LogFiles logs(at_once, no_run);
  (void)logs.add(1, {directory.metadata(), 0});
  logs.keep(1, true);
  logs.release(1);
  CHECK(directory.is_there());
  logs.keep(1, false);
  CHECK(directory.is_empty());
}

TEST_CASE("a log that its user wants stays, although it need not be recovered any more") {
  const LogDirectory directory;
  LogFiles logs(at_once, no_run);
  (void)logs.add(1, {directory.metadata(), 0, true});
  logs.keep(1, true);
  logs.release(1);
  logs.keep(1, false);
  CHECK(directory.is_there());
  logs.remove_all();
  CHECK(directory.is_there());
}

TEST_CASE("at the end of a run all logs go that are not kept") {
  const LogDirectory directory;
  LogFiles logs(at_once, no_run);
  (void)logs.add(1, {directory.metadata(), 0});
  logs.remove_all();
  CHECK(directory.is_empty());
}

TEST_CASE("a log of which only its process knew goes with the process") {
  const LogDirectory directory;
  constexpr matcher::ProcessId owner{7}, other{8};
  LogFiles logs(at_once, no_run);
  logs.expect(owner, directory.metadata());
  logs.end(other);
  CHECK(directory.is_there());
  logs.end(owner);
  CHECK(directory.is_empty());
}

TEST_CASE("a log with a segment stays when its process ends") {
  const LogDirectory directory;
  constexpr matcher::ProcessId owner{7};
  LogFiles logs(at_once, no_run);
  SUBCASE("expected before the segment") {
    logs.expect(owner, directory.metadata());
    (void)logs.add(1, {directory.metadata(), 0});
  }
  SUBCASE("expected after it: the messages came over two connections") {
    (void)logs.add(1, {directory.metadata(), 0});
    logs.expect(owner, directory.metadata());
  }
  SUBCASE("of a new log in the place of one that was removed") {
    logs.expect(owner, directory.metadata());
    logs.forget(directory.metadata());
  }
  logs.end(owner);
  CHECK(directory.is_there());
}

TEST_CASE("logs that nobody reads take no descriptors") {
  const LogDirectory directory;
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  LogFiles logs(at_once, no_run);
  const auto before = open_descriptors();
  const auto file = logs.add(1, {directory.metadata(), 0});
  CHECK(open_descriptors() == before);
  auto used = file->descriptor();
  CHECK(used == logs.add(2, {directory.metadata(), 4096})->descriptor());
  CHECK(open_descriptors() == before + 1);
  used.reset();
  CHECK(open_descriptors() == before);
}
