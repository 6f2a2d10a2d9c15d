#include "progress.hpp"

#include <doctest/doctest.h>

using namespace sluice::coordinator;
using namespace sluice::runtime;
using std::chrono::seconds;

namespace {
StatusReport waiting(std::uint64_t since_ms) {
  StatusReport report;
  report.waits.push_back({"analysis", 2, "wave_0003.nc from model", since_ms});
  return report;
}
}  // namespace

TEST_CASE("the progress line counts files, steps and bytes and names the longest wait") {
  StatusReport report = waiting(2500);
  report.waits.push_back({"picture", 1, "arrival.nc from analysis", 9000});
  report.bytes_staged = 2048;
  report.datasets.push_back({0, "wave_0001.nc", 1, 0, {1, 1024, 2, 512, 0}, 0});
  report.datasets.push_back({0, "wave_0002.nc", 2, 0, {1, 1024, 2, 512, 0}, 0});
  CHECK(describe_progress(std::chrono::seconds(72), report) ==
        "01:12  2 files, 3 steps, 2.00 KiB put, 1.00 KiB got, 2.00 KiB staged; picture waits for arrival.nc "
        "from analysis since 9 s");
}

TEST_CASE("a wait is told when it has lasted, then each time it has lasted twice as long") {
  WaitNotices notices(seconds(30));
  CHECK(notices.due(waiting(29000)).empty());
  CHECK(notices.due(waiting(31000)) ==
        std::vector<std::string>{"analysis (2 processes) waits for wave_0003.nc from model since 31 s"});
  CHECK(notices.due(waiting(59000)).empty());
  CHECK(notices.due(waiting(60000)).size() == 1);
  CHECK(notices.due(waiting(119000)).empty());
  CHECK(notices.due(waiting(500000)).size() == 1);
  CHECK(notices.due(waiting(500000)).empty());
}

TEST_CASE("a new wait for the same thing starts anew") {
  WaitNotices notices(seconds(30));
  CHECK(notices.due(waiting(40000)).size() == 1);
  CHECK(notices.due(StatusReport{}).empty());
  CHECK(notices.due(waiting(31000)).size() == 1);
  CHECK(notices.due(waiting(1000)).empty());
  CHECK(notices.due(waiting(31000)).size() == 1);
}

TEST_CASE("a reader that opens nothing is told of while it runs and files are there") {
  sluice::workflows::Workflow workflow;
  workflow.files = {{"a.nc", "model", {"analysis", "picture"}, {}}};
  UnreadNotices notices(seconds(30));
  const auto due = [&](std::uint64_t published_for_ms, bool runs) {
    StatusReport report;
    report.rules = {{{"model", "picture"}, published_for_ms}};
    return notices.due(workflow, report, [&](const std::string&) { return runs; });
  };
  CHECK(due(0, true).empty());
  CHECK(due(29000, true).empty());
  REQUIRE(due(30000, true).size() == 1);
  CHECK(due(59000, true).empty());
  CHECK(due(70000, false).empty());
  const auto second = due(71000, true);
  REQUIRE(second.size() == 1);
  CHECK(second.front().starts_with("analysis has opened no file of 'a.nc'"));
}
