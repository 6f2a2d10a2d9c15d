#include "event_log.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>

using namespace sluice::coordinator;

TEST_CASE("lines that do not fit on the disk are lost, and the reason is known") {
  EventLog log("/dev/full");
  CHECK(log.failure().empty());
  log.add("sluice", "a line");
  CHECK(log.failure() == "No space left on device");
  EventLog null("/dev/null");
  null.add("sluice", "a line");
  CHECK(null.failure().empty());
}

TEST_CASE("the log is bounded: the older half has another name, and no line is missing in the middle") {
  const std::filesystem::path directory = "event_log." + std::to_string(::getpid());
  std::filesystem::create_directory(directory);
  const std::filesystem::path path = directory / "events.log";
  constexpr std::uint64_t most_bytes = 4000;
  constexpr int lines = 1000;
  {
    EventLog log(path, most_bytes);
    for (int i = 0; i < lines; ++i) {
      log.add("model", "line " + std::to_string(i));
      REQUIRE(std::filesystem::file_size(path) <= most_bytes);
    }
    CHECK(log.failure().empty());
  }
  const std::filesystem::path older = path.string() + ".1";
  REQUIRE(std::filesystem::exists(older));
  CHECK(std::filesystem::file_size(older) <= most_bytes);
  int last = -1;
  for (const auto& name : {older, path}) {
    std::ifstream stream(name);
    for (std::string line; std::getline(stream, line);) {
      const int number = std::stoi(line.substr(line.rfind(' ') + 1));
      if (last >= 0) CHECK(number == last + 1);
      last = number;
    }
  }
  CHECK(last == lines - 1);
  std::filesystem::remove_all(directory);
}
