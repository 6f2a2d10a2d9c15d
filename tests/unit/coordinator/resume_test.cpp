#include <doctest/doctest.h>

#include "job_time.hpp"
#include "restoration.hpp"
#include "resume_words.hpp"

using namespace sluice;
using namespace sluice::coordinator;
using std::chrono::seconds;

TEST_CASE("{resume} is replaced in commands, launcher options and environments") {
  workflows::Workflow workflow;
  workflows::Component& component = workflow.components.emplace_back();
  component.command = {"model", "--log={resume}{resume}", "{Resume}"};
  component.launcher_options = {"--output={resume}"};
  component.environment = {{"AGAIN", "{resume}"}, {"{resume}", "x"}};
  set_resume_number(workflow, 12);
  CHECK(component.command == std::vector<std::string>{"model", "--log=1212", "{Resume}"});
  CHECK(component.launcher_options == std::vector<std::string>{"--output=12"});
  CHECK(component.environment == std::map<std::string, std::string>{{"AGAIN", "12"}, {"{resume}", "x"}});
}

TEST_CASE("Slurm's times") {
  CHECK(parse_slurm_time("1-02:03:04") == seconds(93784));
  CHECK(parse_slurm_time("02:03:04") == seconds(7384));
  CHECK(parse_slurm_time("5:00") == seconds(300));
  for (const char* text : {"", "UNLIMITED", "INVALID", "5", "1:2:3:4", "-1:00", "a-1:00", "1:", "NOT_SET"})
    CHECK_MESSAGE(!parse_slurm_time(text), text);
}

TEST_CASE("what qstat says") {
  const auto now = std::chrono::system_clock::now();
  const auto left = [&](const std::string& text) { return parse_qstat(text, now); };
  const std::string limit = "    Resource_List.walltime = 01:00:00\n";
  CHECK(left("Job Id: 7\n    resources_used.walltime = 00:10:00\n" + limit) == seconds(3000));
  CHECK(left(limit) == seconds(3600));
  CHECK_FALSE(left("qstat: Unknown Job Id 7"));
  const auto started = [&](seconds before) {
    const std::time_t start = std::chrono::system_clock::to_time_t(now - before);
    std::array<char, 64> date{};
    std::strftime(date.data(), date.size(), "%a %b %e %H:%M:%S %Y", std::localtime(&start));
    return std::string("    stime = ") + date.data() + "\n";
  };
  // what is used is told every few minutes
  const auto behind = left("    resources_used.walltime = 00:10:00\n" + limit + started(seconds(900)));
  REQUIRE(behind);
  CHECK(*behind <= seconds(2701));
  CHECK(*behind >= seconds(2699));
  CHECK(left("    resources_used.walltime = 00:10:00\n" + limit + started(seconds(60))) == seconds(3000));
  CHECK(left(limit + "    stime = soon\n") == seconds(3600));
}

TEST_CASE("the end of a job of Slurm is in its environment, and a problem says what is missing") {
  const Environment no_batch_job;
  CHECK_FALSE(is_in_batch_job(no_batch_job));
  CHECK(find_job_time(no_batch_job).problem.find("neither SLURM_JOB_ID nor PBS_JOBID") != std::string::npos);
  const auto now = std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch());
  const Environment job{{"SLURM_JOB_ID", "7"},
                        {"SLURM_JOB_END_TIME", std::to_string((now + std::chrono::hours(9)).count())}};
  CHECK(is_in_batch_job(job));
  const JobTime time = find_job_time(job);
  REQUIRE(time.left);
  CHECK(*time.left <= std::chrono::hours(9));
  CHECK(*time.left > std::chrono::hours(8));
  CHECK(find_job_time({{"PBS_JOBID", "7"}, {"PBS_WALLTIME", "3600"}, {"PATH", ""}}).left == seconds(3600));
  CHECK_FALSE(find_job_time({{"SLURM_JOB_ID", "7"}, {"PATH", ""}}).left);
}

TEST_CASE("lost steps of a stream are named once, with their number") {
  Restoration restoration;
  restoration.resumes = 1;
  restoration.lost = {"a.nc", "s.nc", "b.nc", "s.nc", "c.nc", "d.nc", "e.nc", "f.nc"};
  const std::vector<std::string> lines = restoration.describe();
  REQUIRE(lines.size() == 2);
  CHECK(
      lines[1] ==
      "lost, because they were in memory only: 'a.nc', 's.nc' (2 steps), 'b.nc', 'c.nc', 'd.nc' and 2 more");
}
