#include "sluice/workflows/command_advice.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "sluice/workflows/workflow.hpp"

using namespace sluice::workflows;
using Words = std::vector<std::string>;

namespace {
std::string launcher(const Words& words) {
  return launcher_in(words);
}
}  // namespace

TEST_CASE("a launcher is found at the begin, behind programs that start others, and in the text of a shell") {
  CHECK(launcher({"mpirun", "-n", "4", "./model"}) == "mpirun");
  CHECK(launcher({"/opt/bin/mpiexec.hydra", "./model"}) == "mpiexec.hydra");
  CHECK(launcher({"env", "A=1", "srun", "./model"}) == "srun");
  CHECK(launcher({"nice", "-n", "5", "timeout", "10m", "mpiexec", "./model"}) == "mpiexec");
  CHECK(launcher({"sh", "-c", "cd run && mpirun ./model"}) == "mpirun");
  CHECK(launcher({"bash", "-ec", "A=1 srun ./model | tee log"}) == "srun");
  CHECK(launcher({"./model", "mpirun"}).empty());
  CHECK(launcher({"sh", "-c", "echo mpirun"}).empty());
  CHECK(launcher({"sh", "mpirun.sh"}).empty());
  CHECK(launcher({"env", "A=1", "./model", "srun"}).empty());
}

TEST_CASE("what only a shell can begin with is told with what to write") {
  const auto advice = [](const Words& words) { return advice_on_begin(words, true); };
  CHECK(advice({"A_1=x y", "./model"}).find("environment: {A_1: \"x y\"}") != std::string::npos);
  CHECK(advice({"cd", "run"}).find("directory: run") != std::string::npos);
  CHECK(advice({"source", "env.sh"}).find("[sh, -c,") != std::string::npos);
  CHECK(advice({"~/model"}).find("whole path") != std::string::npos);
  CHECK(advice_on_begin(Words{"A=1", "./model"}, false).find("env A=1") != std::string::npos);
  for (const Words& words :
       {Words{"./model"}, Words{"./a=b"}, Words{"=a"}, Words{"1=a"}, Words{"./cd"}, Words{"python3"}})
    CHECK(advice(words).empty());
}

TEST_CASE("a placeholder that is nearly one is told, and braces of the program's own are not") {
  const auto told = [](const std::string& argument) {
    std::string text;
    for (const Mistake& warning : parse_workflow("version: 1\ncomponents:\n  a: {command: 'x " + argument +
                                                     " {instance}', instances: 2}\n",
                                                 "/w/flow.yaml")
                                      .warnings)
      text += warning.text;
    return text;
  };
  CHECK(
      told("{instanc}").find("contains {instanc}: did you mean '{instance}'? The program gets it as it is") !=
      std::string::npos);
  for (const char* argument : {"{instance}", "a{instance:03}.nc", "{resume}", "{x}", "{{a,b}}"})
    CHECK(told(argument).empty());
  CHECK(told("{1..4}").find("no shell runs the command") != std::string::npos);
}

TEST_CASE("what nothing expands is told: variables in values, and words of jobs") {
  const auto flow = parse_workflow(
      "version: 1\ncomponents:\n  a: {command: 'x {stem}', environment: {PATH: \"$HOME/bin:${PATH}\", B: "
      "'5$'}}\n",
      "/w/flow.yaml");
  REQUIRE(flow.warnings.size() == 2);
  CHECK(flow.warnings[0].text.find("contains {stem}, which stands for a file only with 'for-each'") !=
        std::string::npos);
  CHECK(flow.warnings[1].text.find("the variable 'PATH' contains $HOME, and nothing expands it") !=
        std::string::npos);
}
