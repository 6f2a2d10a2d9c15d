#include "job_nodes.hpp"

#include <doctest/doctest.h>

using namespace sluice::coordinator;
using sluice::workflows::Component;
using sluice::workflows::Launcher;
using sluice::workflows::Workflow;
using Names = std::vector<std::string>;

namespace {

Component component(int ranks, Names options = {}) {
  Component result;
  result.name = "model";
  result.ranks = ranks;
  result.launcher_options = std::move(options);
  return result;
}

}  // namespace

TEST_SUITE("job nodes") {
  TEST_CASE("the nodes of a job map are found in its order, each once") {
    CHECK(
        nodes_in_map(" Data for JOB [29663,1] offset 0 Total slots allocated 4\n\n ====   JOB MAP   ====\n\n"
                     " Data for node: b1\tNum slots: 2\tMax slots: 0\tNum procs: 2\n"
                     " \tProcess OMPI jobid: [29663,1] App: 0 Process rank: 0 Bound: N/A\n\n"
                     " Data for node: a1.some.where\tNum slots: 1\tMax slots: 0\tNum procs: 1\n"
                     " Data for node: b1\tNum slots: 2\n") == Names{"b1", "a1.some.where"});
    CHECK(nodes_in_map("").empty());
    CHECK(nodes_in_map("mpirun: no such option").empty());
    CHECK(nodes_in_map("Data for node: ").empty());
    CHECK(nodes_in_map("Data for node: cut") == Names{"cut"});
  }

  TEST_CASE("mpirun is asked only where something speaks of nodes") {
    Workflow workflow;
    CHECK_FALSE(may_be_elsewhere(workflow, component(2), {{"PATH", "/bin"}}));
    CHECK_FALSE(may_be_elsewhere(workflow, component(2, {"--bind-to", "core"}), {}));
    for (const char* option : {"--host", "-host", "-H", "--hostfile", "--machinefile", "--rankfile", "-rf"})
      CHECK(may_be_elsewhere(workflow, component(2, {option, "x"}), {}));
    for (const char* variable : {"SLURM_JOB_ID", "PE_HOSTFILE", "OMPI_MCA_orte_default_hostfile"})
      CHECK(may_be_elsewhere(workflow, component(2), {{variable, "x"}}));
    CHECK_FALSE(may_be_elsewhere(workflow, component(0), {{"SLURM_JOB_ID", "1"}}));
    workflow.hostfile = "/hosts";
    CHECK(may_be_elsewhere(workflow, component(2), {}));
    CHECK_FALSE(may_be_elsewhere(workflow, component(0), {}));
    workflow.launcher.kind = Launcher::Kind::none;
    CHECK_FALSE(may_be_elsewhere(workflow, component(1), {}));
  }

  TEST_CASE("a run whose ranks cannot be elsewhere is on this machine alone") {
    Workflow workflow;
    workflow.components = {component(2), component(0)};
    std::vector<sluice::workflows::Mistake> mistakes;
    const JobNodes nodes = find_job_nodes(workflow, {{"PATH", "/bin"}}, mistakes);
    CHECK_FALSE(nodes.are_several());
    CHECK(nodes.components_elsewhere.empty());
    CHECK(mistakes.empty());
  }
}
