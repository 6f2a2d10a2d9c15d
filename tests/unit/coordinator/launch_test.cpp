#include "launch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace sluice::coordinator;
using sluice::workflows::Component;
using sluice::workflows::Launcher;
using sluice::workflows::Workflow;
using Words = std::vector<std::string>;

namespace {

Component component(const std::string& name, int ranks) {
  Component result;
  result.name = name;
  result.command = {"./program", "an argument"};
  result.ranks = ranks;
  result.directory = "/somewhere";
  return result;
}

Workflow flow(std::vector<Component> components) {
  Workflow workflow;
  workflow.components = std::move(components);
  workflow.files = {{{"a*.nc", "model", {"analysis", "model"}, {}}}, {{"b.nc", "analysis", {"picture"}, {}}}};
  return workflow;
}

LaunchContext context() {
  LaunchContext result;
  result.environment = {{"HOME", "/root"}};
  result.socket_path = "/run/socket";
  result.preload_library = "/lib/client.so";
  result.cores = 8;
  return result;
}

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("each component gets the rules that name it") {
  const Workflow workflow = flow({});
  CHECK(rules_for(workflow, "model") == "0\trwhol\tmemory\ta*.nc\n");
  CHECK(rules_for(workflow, "analysis") == "0\trhol\tmemory\ta*.nc\n1\twhol\tmemory\tb.nc\n");
  CHECK(rules_for(workflow, "stranger").empty());
  Workflow with_restarts = flow({component("model", 2), component("analysis", 2)});
  with_restarts.components[1].failure.restarts = 3;
  CHECK(rules_for(with_restarts, "model") == "0\trwhol\tmemory\ta*.nc\n");
  CHECK(rules_for(with_restarts, "analysis") == "0\trahol\tmemory\ta*.nc\n1\twahol\tmemory\tb.nc\n");
}

TEST_CASE("the library for programs that read files is preloaded where there is one") {
  const Workflow workflow = flow({component("model", 0)});
  LaunchContext with_files = context();
  with_files.files_library = "/lib/files.so";
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], with_files);
  CHECK(plan.environment.at("LD_PRELOAD") == "/lib/client.so:/lib/files.so");
}

TEST_CASE("a serial component is started without the launcher") {
  const Workflow workflow = flow({component("model", 0)});
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK_FALSE(plan.by_launcher);
  CHECK(plan.arguments == Words{"./program", "an argument"});
  CHECK(plan.directory == "/somewhere");
  CHECK(plan.environment == Environment{{"HOME", "/root"},
                                        {"ASAN_OPTIONS", "verify_asan_link_order=0"},
                                        {"LD_PRELOAD", "/lib/client.so"},
                                        {"SLUICE_COMPONENT", "model"},
                                        {"SLUICE_OTHERS", "1\tb.nc\n"},
                                        {"SLUICE_RULES", "0\trwhol\tmemory\ta*.nc\n"},
                                        {"SLUICE_SOCKET", "/run/socket"}});
}

TEST_CASE("a parallel component is started by mpirun, with nothing preloaded into the launcher") {
  const Workflow workflow = flow({component("model", 4)});
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK(plan.by_launcher);
  CHECK(plan.arguments == Words{"mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", "env",
                                "ASAN_OPTIONS=verify_asan_link_order=0", "LD_PRELOAD=/lib/client.so",
                                "SLUICE_COMPONENT=model", "SLUICE_OTHERS=1\tb.nc\n",
                                "SLUICE_RULES=0\trwhol\tmemory\ta*.nc\n", "SLUICE_SOCKET=/run/socket",
                                "./program", "an argument"});
  CHECK_FALSE(plan.environment.contains("LD_PRELOAD"));
  CHECK(plan.environment.at("SLUICE_SOCKET") == "/run/socket");
  CHECK_FALSE(
      plan.environment.contains("SLUICE_COMPONENT"));  // the parent of its ranks belongs to no component
}

TEST_CASE("what a program starts by MPI_Comm_spawn gets the variables of its component") {
  Workflow workflow = flow({component("model", 4)});
  const std::string list = "OMPI_MCA_mca_base_env_list";
  LaunchContext where = context();
  where.environment[list] = "OF_USER";
  CHECK(plan_launch(workflow, workflow.components[0], where).environment.at(list) ==
        "OF_USER;ASAN_OPTIONS;LD_PRELOAD=/lib/client.so;SLUICE_COMPONENT=model;SLUICE_OTHERS;SLUICE_RULES;"
        "SLUICE_SOCKET");
  workflow.components[0].launcher_options = {"-x", "OF_USER"};
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK_FALSE(plan.environment.contains(list));
  CHECK(std::ranges::count(plan.arguments, "LD_PRELOAD=/lib/client.so") == 2);  // by -x, and by env
}

TEST_CASE("without a launcher even a component with a rank is started directly") {
  Workflow workflow = flow({component("model", 1)});
  workflow.launcher.kind = Launcher::Kind::none;
  CHECK(plan_launch(workflow, workflow.components[0], context()).arguments.front() == "./program");
}

TEST_CASE("in a Slurm job the processes of several mpirun share the nodes") {
  const Workflow workflow = flow({component("model", 4)});
  LaunchContext where = context();
  CHECK_FALSE(plan_launch(workflow, workflow.components[0], where).environment.contains("SLURM_OVERLAP"));
  where.environment["SLURM_JOB_ID"] = "7";
  CHECK(plan_launch(workflow, workflow.components[0], where).environment.at("SLURM_OVERLAP") == "1");
}

TEST_CASE("srun starts steps that share the allocation, and the user's options have precedence") {
  Workflow workflow = flow({component("model", 4)});
  workflow.launcher.kind = Launcher::Kind::srun;
  LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK(plan.by_launcher);
  CHECK(Words(plan.arguments.begin(), plan.arguments.begin() + 10) ==
        Words{"srun", "--overlap", "--kill-on-bad-exit=1", "--mpi=pmix", "--cpu-bind=none", "-n", "4", "env",
              "ASAN_OPTIONS=verify_asan_link_order=0", "LD_PRELOAD=/lib/client.so"});
  CHECK_FALSE(plan.environment.contains("LD_PRELOAD"));
  workflow.components[0].launcher_options = {"--mpi=pmi2", "--cpu-bind=cores"};
  plan = plan_launch(workflow, workflow.components[0], context());
  CHECK(
      Words(plan.arguments.begin(), plan.arguments.begin() + 8) ==
      Words{"srun", "--overlap", "--kill-on-bad-exit=1", "-n", "4", "--mpi=pmi2", "--cpu-bind=cores", "env"});
}

TEST_CASE("a component's own launcher comes before the workflow's") {
  Workflow workflow = flow({component("model", 4), component("analysis", 2)});
  workflow.components[1].launcher = Launcher{Launcher::Kind::hydra, {"mpiexec.mpich"}};
  workflow.components[1].launcher_options = {"-hosts", "a,b"};
  CHECK(plan_launch(workflow, workflow.components[0], context()).arguments.front() == "mpirun");
  const LaunchPlan plan = plan_launch(workflow, workflow.components[1], context());
  CHECK(plan.by_launcher);
  CHECK(Words(plan.arguments.begin(), plan.arguments.begin() + 6) ==
        Words{"mpiexec.mpich", "-hosts", "a,b", "-n", "2", "env"});
  CHECK_FALSE(plan.environment.contains("LD_PRELOAD"));
  workflow.components[1].launcher_options.clear();
  std::ofstream("nodes.txt") << "# all\nn1 slots=4 max_slots=8\n\nn2  # one\n";
  workflow.hostfile = "nodes.txt";
  CHECK(plan_launch(workflow, workflow.components[1], context()).arguments[2] == "n1:4,n2");
  workflow.launcher.kind = Launcher::Kind::none;
  CHECK_FALSE(is_launched(workflow, workflow.components[0]));
  CHECK(is_launched(workflow, workflow.components[1]));
}

TEST_CASE("a launcher of the user's gets the ranks and the program where he says") {
  Workflow workflow = flow({component("model", 4)});
  workflow.launcher = {Launcher::Kind::custom, {"start", "-n{ranks}", "{ranks}", "--", "{program}", "end"}};
  workflow.components[0].launcher_options = {"--fast"};
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK(plan.by_launcher);
  CHECK(plan.arguments == Words{"start", "-n4", "4", "--", "--fast", "env",
                                "ASAN_OPTIONS=verify_asan_link_order=0", "LD_PRELOAD=/lib/client.so",
                                "SLUICE_COMPONENT=model", "SLUICE_OTHERS=1\tb.nc\n",
                                "SLUICE_RULES=0\trwhol\tmemory\ta*.nc\n", "SLUICE_SOCKET=/run/socket",
                                "./program", "an argument", "end"});
  CHECK_FALSE(plan.environment.contains("LD_PRELOAD"));
}

TEST_CASE("preloaded libraries and variables of the user are kept") {
  Workflow workflow = flow({component("model", 0)});
  workflow.components[0].environment = {{"LD_PRELOAD", "/mine.so"}, {"HOME", "/elsewhere"}};
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK(plan.environment.at("LD_PRELOAD") == "/lib/client.so:/mine.so");
  CHECK(plan.environment.at("HOME") == "/elsewhere");
}

TEST_CASE("ranks are not bound unless the user places them") {
  Workflow workflow = flow({component("model", 2)});
  workflow.components[0].launcher_options = {"--map-by", "core"};
  LaunchPlan plan = plan_launch(workflow, workflow.components[0], context());
  CHECK_FALSE(contains(plan.arguments, "none"));
  CHECK(contains(plan.arguments, "core"));
  workflow.components[0].launcher_options = {"--nooversubscribe"};
  plan = plan_launch(workflow, workflow.components[0], context());
  CHECK(contains(plan.arguments, "none"));
  CHECK_FALSE(contains(plan.arguments, "--oversubscribe"));
}

TEST_CASE("waits yield only when the run has more processes than cores") {
  const Workflow workflow = flow({component("model", 7), component("picture", 0), component("analysis", 1)});
  LaunchContext where = context();
  CHECK(plan_launch(workflow, workflow.components[0], where).environment.at("OMPI_MCA_mpi_yield_when_idle") ==
        "1");
  where.cores = 9;
  CHECK_FALSE(plan_launch(workflow, workflow.components[0], where)
                  .environment.contains("OMPI_MCA_mpi_yield_when_idle"));
}

TEST_CASE("the superuser's mpirun is allowed to run") {
  const Workflow workflow = flow({component("model", 1)});
  LaunchContext where = context();
  CHECK_FALSE(
      plan_launch(workflow, workflow.components[0], where).environment.contains("OMPI_ALLOW_RUN_AS_ROOT"));
  where.is_root = true;
  CHECK(
      plan_launch(workflow, workflow.components[0], where).environment.at("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") ==
      "1");
}

TEST_CASE("the variables of a surrounding MPI job are not handed on, the user's own are") {
  Environment environment{{"OMPI_COMM_WORLD_SIZE", "1"},
                          {"OMPI_MCA_orte_hnp_uri", "x"},
                          {"OMPI_MCA_ess", "x"},
                          {"PMIX_RANK", "0"},
                          {"PMIX_NAMESPACE", "x"},
                          {"OMPI_MCA_btl", "self"},
                          {"PATH", "/bin"}};
  remove_surrounding_job(environment);
  CHECK(environment == Environment{{"OMPI_MCA_btl", "self"}, {"PATH", "/bin"}});
  Environment own{{"OMPI_MCA_orte_tmpdir_base", "/scratch"}, {"PMIX_MCA_gds", "hash"}};
  const Environment before = own;
  remove_surrounding_job(own);
  CHECK(own == before);
}

TEST_CASE("ranks with terminals of their own are started through a shell that finds theirs") {
  const Workflow workflow = flow({component("model", 2)});
  const LaunchPlan plan = plan_launch(workflow, workflow.components[0], context(), "/run/stdout.model");
  const auto shell = std::find(plan.arguments.begin(), plan.arguments.end(), "sh");
  REQUIRE(plan.arguments.end() - shell > 5);
  CHECK(shell[3] == "/run/stdout.model");
  CHECK(shell[4] == "env");
  CHECK(plan.arguments.back() == "an argument");
}

TEST_CASE("options that name hosts are recognised") {
  Component model = component("model", 2);
  CHECK_FALSE(names_hosts(model));
  model.launcher_options = {"--hostfile", "hosts"};
  CHECK(names_hosts(model));
}
