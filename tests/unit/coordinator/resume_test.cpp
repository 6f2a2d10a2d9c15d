#include <doctest/doctest.h>

#include "job_time.hpp"
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
  CHECK(parse_qstat(
            "Job Id: 7\n    resources_used.walltime = 00:10:00\n    Resource_List.walltime = 01:00:00\n") ==
        seconds(3000));
  CHECK(parse_qstat("    Resource_List.walltime = 01:00:00") == seconds(3600));
  CHECK_FALSE(parse_qstat("qstat: Unknown Job Id 7"));
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
