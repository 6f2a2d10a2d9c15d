// What `sluice init` makes of commands and of a trial.
#include "flow_draft.hpp"

#include <doctest/doctest.h>

#include "sluice/workflows/workflow.hpp"
#include "trial_rules.hpp"

using namespace sluice;
using namespace sluice::coordinator;

namespace {

using Words = std::vector<std::string>;

DraftComponent component(const std::string& text) {
  return {"", read_command(text), "", false};
}

}  // namespace

TEST_CASE("a launcher's command is taken apart into ranks, options and the program") {
  const CommandWords model =
      read_command("mpirun --mca btl self -x A=1 -np 4 --oversubscribe ./model -n 7 'a b'");
  CHECK(model.launcher == "mpirun");
  CHECK(model.ranks == 4);
  CHECK(model.options == Words{"--mca", "btl", "self", "-x", "A=1", "--oversubscribe"});
  CHECK(model.program == Words{"./model", "-n", "7", "a b"});
  const CommandWords script = read_command("python3 plot.py -n 4");
  CHECK(script.launcher.empty());
  CHECK(script.ranks == 0);
  CHECK(script.program == Words{"python3", "plot.py", "-n", "4"});
  CHECK_FALSE(read_command("mpirun -n 4").problem.empty());
  CHECK_FALSE(read_command("a | b").problem.empty());
  CHECK_FALSE(read_command("").problem.empty());
}

TEST_CASE("components have the names of their programs, each once") {
  std::vector<DraftComponent> all{component("mpirun -n 2 ./bin/model.exe"), component("./model"),
                                  component("./7z"), component("sh a.sh")};
  name_components(all);
  CHECK(all[0].name == "model");
  CHECK(all[1].name == "model-2");
  CHECK(all[2].name == "program7z");
  CHECK(all[3].name == "a");
}

TEST_CASE("files become rules by writer, readers, directory and name; differing numbers become '*'") {
  std::vector<TriedProgram> tried(3);
  for (const char* file :
       {"/w/wave_1_00.nc", "/w/wave_1_06.nc", "/w/wave_1_12.nc", "/w/out/mask.nc", "/x/o[1].nc", "/w/log"})
    tried[0].written.insert(file);
  tried[1].read = {"/w/wave_1_00.nc", "/w/wave_1_06.nc", "/w/wave_1_12.nc", "/w/out/mask.nc", "/etc/passwd"};
  tried[2].read = {"/w/out/mask.nc", "/x/o[1].nc"};
  tried[2].written = {"/w/wave_1_00.nc.png"};
  auto rules = find_rules(tried, "/w", {"a", "b", "c"}).rules;
  REQUIRE(rules.size() == 3);
  std::ranges::sort(rules, {}, &DraftRule::pattern);
  CHECK(rules[0].pattern == "out/mask.nc");
  CHECK(rules[0].readers == std::vector<std::size_t>{1, 2});
  CHECK(rules[1].pattern == "wave_1_*.nc");
  CHECK(rules[1].readers == std::vector<std::size_t>{1});
  CHECK(rules[1].files.size() == 3);
  CHECK(rules[2].pattern == "x/o[[]1?.nc");
}

TEST_CASE("who depends on a program in another way than by its files begins when that has ended") {
  const auto later = [](TrialCall call, const TriedProgram& first) {
    TriedProgram second;
    second.calls = {std::move(call)};
    const auto found = find_rules({first, second}, "/w", {"a", "b"});
    CHECK(found.problems.empty());
    for (const DraftRule& rule : found.rules) CHECK(rule.is_on_disk);
    return found.later.contains(1) ? found.later.at(1) : std::string();
  };
  TriedProgram first;
  first.written = {"/w/a.nc", "/w/out/b.nc"};
  first.read = {"/w/in"};
  first.gone = {"/w/tmp"};
  first.named = {"/w/out"};
  CHECK(later({'s', "/w/a.nc", "/w/a.nc", "/w/a.nc"}, first) == "it looks for 'a.nc', which a writes");
  CHECK(later({'l', "/w", "/w", "/w"}, first) ==
        "it lists the directory of the workflow, where a makes files");
  CHECK(later({'a', "/w/a.nc", "/w/a.nc", "/w/a.nc"}, first) == "it changes 'a.nc', which a writes");
  CHECK(later({'w', "/w/in", "/w/in", "/w/in"}, first) == "it changes 'in', which a reads");
  CHECK(later({'n', "/w/tmp", "/w/tmp", ""}, first) == "it writes 'tmp', as a does");
  CHECK(later({'d', "/w/out", "/w/out", "/w/out"}, first) == "it uses 'out', which a makes");
  CHECK(later({'l', "/x", "/x", "/x"}, first).empty());
  CHECK(later({'r', "/w/in", "/w/in", "/w/in"}, first).empty());
  CHECK(later({'n', "/w/new", "/w/new", "/w/new"}, first).empty());
}

TEST_CASE("what is written is a workflow") {
  std::vector<DraftComponent> all{component("mpirun -n 4 ./model 'a \"b\"'"), component("python3 plot.py")};
  all[0].kind = "linked with libpnetcdf.so.4";
  name_components(all);
  const auto flow = workflows::parse_workflow(write_draft(all, {{"wave_*.nc", 0, {1}, {"wave_1.nc"}}}, true),
                                              "/w/flow.yaml");
  REQUIRE(flow.components.size() == 2);
  CHECK(flow.components[0].ranks == 4);
  CHECK(flow.components[0].command == Words{"./model", "a \"b\""});
  REQUIRE(flow.files.size() == 1);
  CHECK(flow.files[0].writer == "model");
  CHECK(flow.files[0].readers == Words{"plot"});
  CHECK(workflows::parse_workflow(write_draft(all, {}, true), "/w/flow.yaml").files.empty());
}
