#include "progress.hpp"

#include <doctest/doctest.h>

#include "run_progress.hpp"

using namespace sluice::coordinator;
using namespace sluice::runtime;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

RunView waiting(std::uint64_t since_ms) {
  RunView view;
  view.waits.push_back({"analysis", 2, "wave_0003.nc from model", since_ms});
  return view;
}

using Kind = ComponentStage::Kind;

/// A model, an analysis of its files, and a script with a job for each file.
struct Coupling {
  sluice::workflows::Workflow workflow;
  RunView view;
  std::vector<ComponentStage> stages{{Kind::running}, {Kind::running}, {Kind::running}};

  Coupling() {
    for (const char* name : {"model", "analysis", "picture"}) workflow.components.emplace_back().name = name;
    view.components = {{"analysis"}, {"model"}, {"picture"}};
    view.rules = {{"wave_*.nc", "model", {"analysis", "picture"}, {}, {}}};
    view.nodes = {{2048, 4096, 2048, 0}};
    publish(0, 0);
  }
  void publish(std::uint64_t steps, std::uint64_t taken) {
    view.rules[0].totals = {steps, steps, 0};
    view.rules[0].use.readers = {{"analysis", taken, 0, steps - taken}, {"picture", 0, 0, steps}};
    view.uses = {{0, "model", {1, 1024 * steps, 0, 0, 0}}};
  }
};

}  // namespace

TEST_CASE("the progress has a line for each component: steps, rate, waits") {
  Coupling coupling;
  RunProgress progress(coupling.workflow);
  coupling.publish(40, 20);
  coupling.view.waits = {{"analysis", 2, "'wave_0041.nc' from model", 2500}};
  coupling.stages[2].jobs = JobStage{5, 1, 2, 3, false};
  const ProgressReport report = progress.report(coupling.view, coupling.stages, seconds(10));
  const std::vector<std::string> table = progress_table(report);
  REQUIRE(table.size() == 4);
  CHECK(table[0] == "00:10  memory 2.00 KiB of 4.00 KiB, 40.0 KiB put, 0 B got");
  CHECK(table[1] == "  model     40 steps       4.0/s  computes");
  CHECK(table[2] == "  analysis  20 steps       2.0/s  waits 2 s for 'wave_0041.nc' from model");
  CHECK(table[3] == "  picture     5 jobs  2.0 s each  2 running, 3 files to go, 1 failed");
  CHECK(progress_line(report) ==
        "00:10  model 40 steps (4.0/s); analysis 20 steps (2.0/s), waits 2 s for 'wave_0041.nc' from model; "
        "picture 5 jobs (2.0 s each), 2 running, 3 files to go, 1 failed");
  const std::string json = progress_as_json(report);
  CHECK(json.find(R"("name":"analysis","state":"waiting")") != std::string::npos);
  CHECK(json.find(R"("waits_for":"'wave_0041.nc' from model","waits_ms":2500)") != std::string::npos);
  CHECK(json.find("\"all\"") == std::string::npos);
}

TEST_CASE("the end is estimated from the beginning when the workflow says how many files there will be") {
  Coupling coupling;
  coupling.workflow.files.emplace_back();
  sluice::workflows::FileRule& rule = coupling.workflow.files[0];
  rule.pattern = "wave_*.nc";
  rule.writer = "model";
  rule.readers = {"analysis", "picture"};
  rule.modes = {{"picture", sluice::matcher::ReadMode::every, 10}};
  rule.expected = 101;
  RunProgress progress(coupling.workflow);
  coupling.publish(41, 20);
  const ProgressReport report = progress.report(coupling.view, coupling.stages, seconds(10));
  CHECK(progress_table(report)[1] == "  model     41 of 101 steps  4.1/s  14.6 s left  computes");
  CHECK(report.rows[1].all == 101);
  CHECK(report.rows[1].left == milliseconds(40500));
  CHECK(report.rows[2].all == 11);
  coupling.publish(120, 20);
  CHECK(progress.report(coupling.view, coupling.stages, seconds(11)).rows[0].all == 120);
  rule.modes[0].mode = sluice::matcher::ReadMode::latest;
  CHECK_FALSE(progress.report(coupling.view, coupling.stages, seconds(12)).rows[2].all);
  coupling.workflow.files.push_back(rule);  // of another rule nobody knows the number
  coupling.workflow.files.back().expected = 0;
  CHECK_FALSE(progress.report(coupling.view, coupling.stages, seconds(13)).rows[0].all);
}

TEST_CASE("the end is estimated when the writer has ended, and the number of steps is known") {
  Coupling coupling;
  RunProgress progress(coupling.workflow);
  coupling.publish(100, 50);
  CHECK_FALSE(progress.report(coupling.view, coupling.stages, seconds(10)).rows[1].left);
  coupling.view.components[1].has_exited = true;
  coupling.stages[0] = {Kind::ended, false, "exited with status 0"};
  const ProgressReport report = progress.report(coupling.view, coupling.stages, seconds(10));
  CHECK(report.rows[0].text == "finished");
  REQUIRE(report.rows[1].all);
  CHECK(*report.rows[1].all == 100);
  REQUIRE(report.rows[1].left);
  CHECK(*report.rows[1].left == seconds(10));
  CHECK(progress_table(report)[2] == "  analysis  50 of 100 steps  5.0/s  10.0 s left  computes");
}

TEST_CASE("the rate is that of the last seconds") {
  Coupling coupling;
  RunProgress progress(coupling.workflow);
  for (std::uint64_t second = 1; second <= 100; ++second) {
    coupling.publish(second <= 50 ? second * 10 : 500 + (second - 50), 0);
    const double rate = progress.report(coupling.view, coupling.stages, seconds(second)).rows[0].per_second;
    if (second == 50) CHECK(rate == doctest::Approx(10));
    if (second == 100) CHECK(rate == doctest::Approx(1));
  }
}

TEST_CASE("the members of an ensemble are summed up") {
  sluice::workflows::Workflow workflow;
  std::vector<ComponentStage> stages;
  RunView view;
  for (int i = 0; i < 100; ++i) {
    sluice::workflows::Component& member = workflow.components.emplace_back();
    member.name = "model." + std::to_string(i);
    member.ensemble = "model";
    stages.push_back({i < 40 ? Kind::ended : i < 48 ? Kind::running : Kind::not_started, i == 3, ""});
  }
  view.waits = {{"model.44", 1, "'b.nc' from other", 9000}, {"model.45", 1, "'c.nc' from other", 1000}};
  RunProgress progress(workflow);
  const ProgressReport report = progress.report(view, stages, seconds(20));
  REQUIRE(report.rows.size() == 1);
  CHECK(progress_table(report)[1] ==
        "  model  40 of 100 members  2.0/s  30.0 s left  8 running, 1 failed, 2 wait, the longest 9 s for "
        "'b.nc' from other");
}

TEST_CASE("a wait is reported after a time, and again each time it has doubled") {
  WaitNotices notices(seconds(30));
  CHECK(notices.due(waiting(29000)).empty());
  CHECK(notices.due(waiting(31000)) ==
        std::vector<std::string>{"analysis (2 processes) waits for wave_0003.nc from model (31 s)"});
  CHECK(notices.due(waiting(59000)).empty());
  CHECK(notices.due(waiting(60000)).size() == 1);
  CHECK(notices.due(waiting(119000)).empty());
  CHECK(notices.due(waiting(500000)).size() == 1);
  CHECK(notices.due(waiting(500000)).empty());
}

TEST_CASE("a wait for a file that was published in another directory is told sooner") {
  WaitNotices notices(seconds(30));
  RunView view = waiting(4000);
  CHECK(notices.due(view).empty());
  view.waits.front().is_doubtful = true;
  CHECK(notices.due(view).size() == 1);
  CHECK(notices.due(view).empty());
}

TEST_CASE("a new wait for the same thing starts anew") {
  WaitNotices notices(seconds(30));
  CHECK(notices.due(waiting(40000)).size() == 1);
  CHECK(notices.due(RunView{}).empty());
  CHECK(notices.due(waiting(31000)).size() == 1);
  CHECK(notices.due(waiting(1000)).empty());
  CHECK(notices.due(waiting(31000)).size() == 1);
}

TEST_CASE("a reader that opens nothing is reported while it runs and files exist") {
  sluice::workflows::Workflow workflow;
  workflow.files = {{{"a.nc", "model", {"analysis", "picture"}, {}}}};
  UnreadNotices notices(seconds(30));
  const auto due = [&](std::uint64_t published_for_ms, bool runs) {
    RunView view;
    view.rules = {{"a.nc", "model", {}, {}, {{"model", "picture"}, published_for_ms}}};
    return notices.due(workflow, view, [&](const std::string&) { return runs; });
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

TEST_CASE("ranks that are missing in a collective call are reported, in the progress at once") {
  const auto told = [](GatheringStatus gathering) { return describe_gathering(gathering); };
  CHECK(told({"viewer", "open of a.nc", 1, 2, {1}, true, true, 5999}) ==
        "1 of 2 processes of viewer is in open of a.nc; rank 1 is not, since 5 s");
  CHECK(
      told({"model", "create of b.nc", 2, 9, {0, 3, 4, 5}, false, false, 61000}) ==
      "2 of 9 processes of a communicator of model are in create of b.nc; ranks 0, 3, 4, 5 of it and 3 more "
      "are not, since 61 s");
  RunView report;
  report.gatherings = {{"viewer", "open of a.nc", 1, 2, {1}, true, true, 3000}};
  sluice::workflows::Workflow workflow;
  workflow.components.emplace_back().name = "viewer";
  RunProgress progress(workflow);
  CHECK(progress.report(report, {{Kind::running}}, seconds(4)).rows[0].text ==
        "1 of 2 processes of viewer is in open of a.nc; rank 1 is not, since 3 s");
  WaitNotices notices(seconds(30));
  CHECK(notices.due(report).empty());
  report.gatherings.front().since_ms = 30000;
  CHECK(notices.due(report).size() == 1);
  CHECK(notices.due(report).empty());
}
