#include "sluice/workflows/workflow.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "sluice/workflows/key_table.hpp"

using namespace sluice;
using namespace sluice::workflows;

TEST_CASE("a workflow is read with its defaults") {
  const Workflow workflow =
      parse_workflow("version: 1\ncomponents:\n  model: {command: 'a \"b c\"'}\n", "/some/where/flow.yaml");
  CHECK(workflow.name == "flow");
  CHECK(workflow.launcher.kind == Launcher::Kind::mpirun);
  CHECK(workflow.memory_bytes > 0);
  CHECK(workflow.files.empty());
  REQUIRE(workflow.components.size() == 1);
  const Component& model = workflow.components.front();
  CHECK(model.command == std::vector<std::string>{"a", "b c"});
  CHECK(model.ranks == 0);
  CHECK(model.directory == "/some/where");
  CHECK(model.position.line == 3);
  CHECK(model.position.column == 3);
}

TEST_CASE("a workflow is read with everything set") {
  const Workflow workflow = parse_workflow(
      "version: 1\nname: waves\nlauncher: none\nstaging: {memory: 1.5 GiB, retain: 0, prewarm: 64MiB, "
      "huge-pages: off, copy-threads: 3}\n"
      "components:\n  model: {command: [a, 'b c'], ranks: 1, directory: run, environment: {A: 1}, "
      "launcher-options: [-x]}\n  picture: {command: c}\n"
      "files:\n  - {path: 'wave_*.nc', writer: model, readers: {picture: all}, publish: sync}\n"
      "  - {path: b.nc, writer: model, readers: [picture], publish: write}\n"
      "  - {path: c.nc, writer: model, readers: [picture]}\n",
      "/some/where/flow.yaml");
  CHECK(workflow.name == "waves");
  CHECK(workflow.launcher.kind == Launcher::Kind::none);
  CHECK(workflow.memory_bytes == 1610612736u);
  CHECK(workflow.retain_bytes == 0u);
  CHECK(workflow.prewarm_bytes == 64u << 20);
  CHECK_FALSE(workflow.has_huge_pages);
  CHECK(workflow.copy_threads == 3);
  const Component& model = workflow.components.front();
  CHECK(model.directory == "/some/where/run");
  CHECK(model.environment == std::map<std::string, std::string>{{"A", "1"}});
  CHECK(model.launcher_options == std::vector<std::string>{"-x"});
  REQUIRE(workflow.files.size() == 3);
  CHECK(workflow.files[0].publish_at == PublishAt::sync);
  CHECK(workflow.files[1].publish_at == PublishAt::write);
  CHECK(workflow.files[2].publish_at == PublishAt::close);
  CHECK(workflow.files.front().pattern == "wave_*.nc");
  CHECK(workflow.files.front().readers == std::vector<std::string>{"picture"});
}

TEST_CASE("a launcher is a word or a command line") {
  const auto launcher = [](const std::string& text) {
    return parse_workflow("version: 1\nlauncher: " + text + "\ncomponents: {a: {command: a, ranks: 2}}\n",
                          "flow.yaml")
        .launcher;
  };
  CHECK(launcher("srun").kind == Launcher::Kind::srun);
  const Launcher custom = launcher("{command: \"start -n{ranks} 'a b' {program} end\"}");
  CHECK(custom.kind == Launcher::Kind::custom);
  CHECK(custom.command == std::vector<std::string>{"start", "-n{ranks}", "a b", "{program}", "end"});
}

TEST_CASE("a hostfile is relative to the workflow file") {
  const Workflow workflow =
      parse_workflow("version: 1\nhostfile: lists/nodes\ncomponents: {a: {command: a}}\n", "/some/flow.yaml");
  CHECK(workflow.hostfile == "/some/lists/nodes");
}

namespace {

std::size_t warnings_of(const std::string& first, const std::string& second) {
  return parse_workflow(
             "version: 1\ncomponents: {a: {command: a}, b: {command: b}}\nfiles:\n  - {path: " + first +
                 ", writer: a, readers: [b]}\n  - {path: " + second + ", writer: a, readers: [b]}\n",
             "flow.yaml")
      .warnings.size();
}

}  // namespace

TEST_CASE("rules that only overlap for a component are a warning") {
  const Workflow workflow = parse_workflow(
      "version: 1\ncomponents: {a: {command: a}, b: {command: b}}\nfiles:\n"
      "  - {path: 'wave_*.nc', writer: a, readers: [b], keep: true}\n  - {path: '*_1.nc', writer: a, "
      "readers: [b]}\n",
      "flow.yaml");
  REQUIRE(workflow.warnings.size() == 1);
  CHECK(workflow.warnings.front().position.line == 5);
}

TEST_CASE("rules that overlap are no warning where nothing depends on which of them applies") {
  CHECK(warnings_of("'s.zarr/*'", "'s.zarr/*/*'") == 0);
  CHECK(warnings_of("'s.zarr/*', expect: 3", "'s.zarr/*/*'") == 1);
  CHECK(warnings_of("'s.zarr/*', queue: 3", "'s.zarr/*/*', queue: 3") == 1);
  CHECK(warnings_of("'s.zarr/*'", "'s.zarr/*/*', keep: true") == 1);
  CHECK(warnings_of("'s.zarr/*'", "'s.zarr/*/*', optional: [x]") == 1);
}

TEST_CASE("an exception from a wider rule that follows is no warning") {
  CHECK(warnings_of("'s.zarr/.zattrs', keep: true", "'s.zarr/**'") == 0);
  CHECK(warnings_of("'wave_*.nc', keep: true", "'*.nc'") == 0);
}

TEST_CASE("patterns of optional files are checked as those of rules") {
  const auto read = [](const std::string& optional) {
    return parse_workflow(
        "version: 1\ncomponents: {a: {command: a}}\nfiles:\n  - {path: 's/**', writer: a, readers: "
        "[a], optional: " +
            optional + "}\n",
        "flow.yaml");
  };
  CHECK(read("['*.lock', .zarray]").files.front().optional == std::vector<std::string>{"*.lock", ".zarray"});
  CHECK_THROWS_WITH((void)read("[/a]"), doctest::Contains("begins with '/'"));
  CHECK_THROWS_WITH((void)read("word"), doctest::Contains("list"));
}

TEST_CASE("the same names in couplings without a common component are fine") {
  const Workflow workflow = parse_workflow(
      "version: 1\ncomponents: {a: {command: a}, b: {command: b}, c: {command: c}, d: {command: d}}\nfiles:\n"
      "  - {path: out.nc, writer: a, readers: [b]}\n  - {path: out.nc, writer: c, readers: [d]}\n",
      "flow.yaml");
  CHECK(workflow.warnings.empty());
}

TEST_CASE("a component may read its own files") {
  CHECK_NOTHROW((void)parse_workflow(
      "version: 1\ncomponents: {a: {command: a}}\nfiles:\n  - {path: out.nc, writer: a, readers: [a]}\n",
      "flow.yaml"));
}

TEST_CASE("a file that is not there or is a directory is an error that names it") {
  CHECK_THROWS_AS((void)parse_workflow(std::filesystem::path("/no/such/flow.yaml")), IoError);
  CHECK_THROWS_AS((void)parse_workflow(std::filesystem::path("/")), IoError);
}

TEST_CASE("no variable that sluice run sets itself can be set for a component") {
  for (const std::string_view name : own_variables) {
    const std::string text =
        "version: 1\ncomponents:\n  model: {command: a, environment: {" + std::string(name) + ": x}}\n";
    CHECK_THROWS_WITH_AS((void)parse_workflow(text, "/flow.yaml"), doctest::Contains("is set by sluice run"),
                         Error);
  }
  CHECK(std::ranges::find(own_variables, "SLUICE_OTHERS") != own_variables.end());
  CHECK(std::ranges::find(own_variables, "SLUICE_LOGS") != own_variables.end());
}

TEST_CASE("a key that is a word, an integer or a truth is read by its row in the table of keys") {
  for (const Key& key : all_keys()) {
    if (key.name == "version") continue;  // it is only checked
    CAPTURE(key.name);
    const bool is_simple =
        key.kind == KeyKind::word || key.kind == KeyKind::integer || key.kind == KeyKind::boolean;
    CHECK(std::holds_alternative<std::monostate>(key.set) != is_simple);
  }
}

TEST_CASE("each word of a rule's key has a meaning of its own") {
  const auto rule_with = [](const Key& key, std::int64_t value) {
    FileRule rule;
    std::get<SetIn<FileRule>>(key.set)(rule, value);
    return std::tuple(rule.through, rule.is_stream, rule.when_full, rule.partition, rule.identity,
                      rule.replays, rule.has_hyperslabs);
  };
  const FileRule defaults;
  for (const Key& key : all_keys()) {
    if (key.section != KeySection::rule || key.kind != KeyKind::word) continue;
    CAPTURE(key.name);
    CHECK(key.default_value == "`" + key.words.front() + "`");
    CHECK(rule_with(key, 0) == std::tuple(defaults.through, defaults.is_stream, defaults.when_full,
                                          defaults.partition, defaults.identity, defaults.replays,
                                          defaults.has_hyperslabs));
    for (std::size_t word = 1; word < key.words.size(); ++word)
      CHECK(rule_with(key, static_cast<std::int64_t>(word)) !=
            rule_with(key, static_cast<std::int64_t>(word) - 1));
  }
}
