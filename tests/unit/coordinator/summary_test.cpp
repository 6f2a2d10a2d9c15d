#include "summary.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace sluice::coordinator;
using sluice::runtime::StatusReport;

namespace {

sluice::workflows::Workflow flow() {
  sluice::workflows::Workflow workflow;
  workflow.name = "waves";
  workflow.memory_bytes = 1u << 30;
  workflow.files = {{{"wave_*.nc", "model", {"analysis"}, {}}}, {{"other.nc", "model", {"analysis"}, {}}}};
  return workflow;
}

RunOutcome outcome() {
  RunOutcome result;
  result.components = {{"model", 4, ProcessEnd{false, 0}, "", std::chrono::milliseconds(1500)},
                       {"analysis", 0, ProcessEnd{true, SIGSEGV}, "", std::chrono::milliseconds(700)}};
  result.report.emplace();
  result.report->bytes_staged_peak = 4096;
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "the exit status is that of the first failed component, unless the runtime failed or somebody "
    "interrupted") {
  RunOutcome result = outcome();
  CHECK(result.exit_status() == 0);
  result.first_failed = "analysis";
  CHECK(result.exit_status() == 139);
  result.runtime_failure = "the matcher was killed";
  CHECK(result.exit_status() == 3);
  result.interrupted_by = SIGINT;
  CHECK(result.exit_status() == 130);
}

TEST_CASE("lost data makes the exit status 3 unless a component has failed") {
  RunOutcome result = outcome();
  result.report->datasets = {{0, "wave_1.nc", 1, 0, {}, 0}, {0, "wave_2.nc", 1, 1, {}, 0}};
  result.report->datasets.back().steps_lost = 1;
  CHECK(result.exit_status() == 3);
  CHECK(contains(summarize(flow(), result), "failed: 1 file was lost: the event log says why"));
  result.first_failed = "analysis";
  CHECK(result.exit_status() == 139);
  result = outcome();
  result.lost_output = "output was lost: stdout: No space left on device";
  CHECK(result.exit_status() == 3);
  CHECK(contains(summarize(flow(), result), "failed: output was lost"));
  result = outcome();
  result.first_failed = "never";
  result.components.push_back({"never", 1, std::nullopt, "cannot start"});
  CHECK(result.exit_status() == 3);
}

TEST_CASE("the end tells what each reader took, skipped and missed, where it is not simply all") {
  RunOutcome result = outcome();
  result.report->rules = {{{"analysis"}, 5, {{"analysis", 30, 0, 0}}},
                          {{"analysis"}, 5, {{"analysis", 1, 0, 0}}}};
  sluice::workflows::Workflow workflow = flow();
  CHECK_FALSE(contains(summarize(workflow, result), "skipped"));
  workflow.files[0].modes = {{"analysis", sluice::matcher::ReadMode::latest, 1}};
  result.report->rules[0].readers = {{"analysis", 7, 22, 1}};
  CHECK(contains(summarize(workflow, result),
                 "reader    of         took  skipped  missed\n"
                 "analysis  wave_*.nc     7       22       1\n"));
  result.report->rules[1].readers[0].missed = 2;
  CHECK(contains(summarize(workflow, result), "analysis  other.nc      1        0       2\n"));
}

TEST_CASE("of many kept files the end names five") {
  RunOutcome result = outcome();
  for (int i = 0; i < 40; ++i) {
    result.report->kept_logs.push_back({"wave_" + std::to_string(i) + ".nc", "/scratch/logs"});
    result.report->drain_failures.push_back("'wave_" + std::to_string(i) + ".nc' is not on disk");
  }
  const std::string text = summarize(flow(), result);
  CHECK(contains(text,
                 "the burst-buffer logs of 'wave_0.nc', 'wave_1.nc', 'wave_2.nc', 'wave_3.nc', "
                 "'wave_4.nc' and 35 more are kept"));
  CHECK(contains(text, "(DIR: /scratch/logs)"));
  CHECK(contains(text, "'wave_4.nc' is not on disk\nand 35 more failures: the event log names them"));
  CHECK_FALSE(contains(text, "wave_5.nc"));
}

TEST_CASE("steps of one file that fail for one reason are one line, and one file") {
  RunOutcome result = outcome();
  for (int i = 0; i < 23; ++i) result.report->drain_failures.push_back("'a.nc' is not on disk: no space");
  CHECK(contains(summarize(flow(), result), "'a.nc' is not on disk: no space (23 times)\n"));
  CHECK_FALSE(contains(summarize(flow(), result), "more"));
  CHECK(result.missing_files() == 1);
}

TEST_CASE("few files have a line each, in order") {
  RunOutcome result = outcome();
  result.report->datasets = {{0, "wave_2.nc", 1, 0, {3, 2048, 6, 4096, 1500000, 5}, 0},
                             {0, "wave_1.nc", 2, 1, {}, 0}};
  const std::string text = summarize(flow(), result);
  CHECK(text.find("wave_1.nc") < text.find("wave_2.nc"));
  CHECK(contains(text, "2 (+1 discarded)"));
  CHECK(contains(text, "2.00 KiB     3  4.00 KiB     6         5   1.5 s"));
  CHECK(contains(text, "other.nc  (no such file was opened)"));
  CHECK(contains(text, "memory: at most 4.00 KiB staged of 1.00 GiB\n"));
  result.report->bytes_spilled_ever = 5 << 20;
  auto spilling = flow();
  result.spill_directory = "/scratch";
  CHECK(contains(summarize(spilling, result), "staged of 1.00 GiB; 5.00 MiB spilled to /scratch\n"));
  spilling.files[0].through = sluice::workflows::Through::burst_buffer;
  CHECK(contains(summarize(spilling, result), "; 5.00 MiB in burst-buffer logs or spilled\n"));
}

TEST_CASE("many files of a rule are one line") {
  RunOutcome result = outcome();
  for (int i = 0; i < 48; ++i)
    result.report->datasets.push_back({0, "wave_" + std::to_string(i) + ".nc", 1, 0, {1, 1024, 0, 0, 0}, 0});
  const std::string text = summarize(flow(), result);
  CHECK(contains(text, "wave_*.nc  (48 files)"));
  CHECK(contains(text, "48.0 KiB"));
  CHECK_FALSE(contains(text, "wave_7.nc"));
}

TEST_CASE("the summary names the first failed component and its end") {
  RunOutcome result = outcome();
  result.first_failed = "analysis";
  const std::string text = summarize(flow(), result);
  CHECK(contains(text, "waves: failed: analysis failed (exit status 139)"));
  CHECK(contains(text, "was killed by signal 11 (SIGSEGV)  <- failed first"));
}

TEST_CASE("the jobs of a component are counted") {
  CHECK(JobFigures{1, 1, 0, 0, 0}.describe() == "1 job");
  CHECK(JobFigures{40, 38, 2, 4, 3}.describe() == "40 jobs, 2 of them failed, 4 retries; 3 files skipped");
  RunOutcome result = outcome();
  result.components[1].jobs = JobFigures{40, 38, 2, 0, 0};
  CHECK(contains(summarize(flow(), result), "40 jobs, 2 of them failed"));
}

TEST_CASE("without final figures the summary has those that were told last") {
  RunOutcome result = outcome();
  result.report.reset();
  CHECK_FALSE(contains(summarize(flow(), result), "wave_*.nc"));
  result.last = LastFigures{{{"wave_*.nc", "model", {"analysis"}, {7, 9, 0}, {}}},
                            {{0, "model", {20, 2048, 0, 0, 0, 0}}, {0, "analysis", {0, 0, 10, 1024, 0, 6}}},
                            2500};
  const std::string text = summarize(flow(), result);
  CHECK(contains(text, "the matchers gave no final figures; 2.5 s after the start they were:"));
  CHECK(contains(text, "wave_*.nc          7      9  2.00 KiB    20  1.00 KiB    10         6"));
}
