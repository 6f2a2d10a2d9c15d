#include "matcher_launch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::coordinator;

namespace {

workflows::Workflow workflow_with(int matchers) {
  workflows::Workflow workflow;
  workflow.matchers = matchers;
  return workflow;
}

bool has(const std::vector<std::string>& words, const std::vector<std::string>& wanted) {
  return std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end();
}

}  // namespace

TEST_SUITE("matcher launch") {
  TEST_CASE("one matcher on one node is no job, and processes get no variables for it") {
    const MatcherJobSize size = matcher_job_size(workflow_with(1), {});
    CHECK_FALSE(size.is_job());
    CHECK(matcher_variables(size).empty());
  }

  TEST_CASE("matchers of a node, virtual nodes and machines multiply") {
    CHECK(matcher_job_size(workflow_with(3), {}).total() == 3);
    const MatcherJobSize virtually =
        matcher_job_size(workflow_with(2), {{"SLUICE_VIRTUAL_NODES", "2"}}, {{"here"}, {}});
    CHECK(virtually.total() == 4);
    CHECK(virtually.is_virtual);
    CHECK(matcher_variables(virtually) ==
          Environment{{"SLUICE_MATCHERS", "2"}, {"SLUICE_VIRTUAL_NODES", "2"}});
    const JobNodes machines{{"here", "b", "c"}, {"model"}};
    const MatcherJobSize real = matcher_job_size(workflow_with(2), {}, machines);
    CHECK(real.total() == 6);
    CHECK_FALSE(real.is_virtual);
    CHECK(matcher_variables(real).at("SLUICE_VIRTUAL_NODES") == "1");
    CHECK(matcher_job_size(workflow_with(2), {{"SLUICE_VIRTUAL_NODES", "1"}}, machines).total() == 6);
    CHECK_THROWS_AS((void)matcher_job_size(workflow_with(2), {{"SLUICE_VIRTUAL_NODES", "2"}}, machines),
                    Error);
  }

  TEST_CASE("a run's directory is not taken for one that was left while it is made") {
    char base[] = "/tmp/run-directories-XXXXXX";
    REQUIRE(::mkdtemp(base) != nullptr);
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      while (!is_over) remove_stale_run_directories(base);
    });
    int lost = 0;
    for (int i = 0; i < 300; ++i) {
      const RunDirectory directory(base);
      lost += !std::filesystem::exists(directory.sessions());
    }
    is_over = true;
    other.join();
    CHECK(lost == 0);
    std::filesystem::remove_all(base);
  }

  TEST_CASE("srun starts the matchers of all nodes as one step") {
    workflows::Workflow workflow = workflow_with(2);
    workflow.launcher.kind = workflows::Launcher::Kind::srun;
    const RunDirectory directory("/tmp");
    const LaunchPlan plan = plan_matchers(matcher_job_size(workflow, {}, {{"a", "b", "c"}, {"model"}}), {},
                                          "/bin/sluice-matcher", directory);
    CHECK(plan.arguments.front() == "srun");
    CHECK(has(plan.arguments, {"-N", "3", "-n", "6", "--ntasks-per-node=2", "--distribution=block"}));
    CHECK(has(plan.arguments, {"--machines", "several"}));
    // components cannot name parts of one machine as nodes
    CHECK(plan_matchers(matcher_job_size(workflow, {{"SLUICE_VIRTUAL_NODES", "2"}}), {},
                        "/bin/sluice-matcher", directory)
              .arguments.front() == "mpirun");
  }

  TEST_CASE("a number of virtual nodes that is none is a mistake") {
    for (const char* text : {"", "0", "-1", "two", "2x", "1000"})
      CHECK_THROWS_AS((void)matcher_job_size(workflow_with(1), {{"SLUICE_VIRTUAL_NODES", text}}), Error);
  }

  TEST_CASE(
      "mpirun places matchers on each machine, the first ones on this, and those of virtual nodes here") {
    const RunDirectory directory("/tmp");
    LaunchContext context;
    context.is_root = true;
    const LaunchPlan here = plan_matchers({2, 2, true}, context, "/bin/sluice-matcher", directory);
    CHECK(has(here.arguments, {"-n", "4"}));
    CHECK(has(here.arguments, {"--virtual-nodes", "2"}));
    CHECK(has(here.arguments, {"--coordinator", directory.coordinator_socket().string()}));
    CHECK_FALSE(has(here.arguments, {"--map-by"}));
    CHECK(here.environment.contains("OMPI_ALLOW_RUN_AS_ROOT"));
    CHECK_FALSE(here.environment.contains("SLUICE_SOCKET"));  // only components have this variable
    CHECK_FALSE(has(here.arguments, {"--machines"}));
    context.environment = {{"OMPI_MCA_orte_default_hostfile", "without-this-machine"}};
    const LaunchPlan there =
        plan_matchers({2, 3, false, {"here", "b", "c"}}, context, "/bin/sluice-matcher", directory);
    CHECK(has(there.arguments, {"--host", "here:2", "-n", "2"}));
    CHECK(has(there.arguments, {"--host", "b:2,c:2", "-n", "4"}));
    CHECK(has(there.arguments, {"--machines", "several"}));
    CHECK_FALSE(there.environment.contains("OMPI_MCA_orte_default_hostfile"));
    CHECK(has(there.arguments, {"--map-by", "ppr:2:node"}));
    CHECK_FALSE(has(there.arguments, {"--virtual-nodes"}));
  }
}
