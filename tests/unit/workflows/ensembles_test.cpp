#include "ensembles.hpp"

#include <doctest/doctest.h>

#include "sluice/workflows/duration.hpp"

using namespace sluice::workflows;
using std::chrono::milliseconds;

namespace {

Workflow parse(const std::string& components, const std::string& files) {
  return parse_workflow("version: 1\ncomponents:\n" + components + "files:\n" + files, "/flows/flow.yaml");
}

}  // namespace

TEST_SUITE("ensembles") {
  TEST_CASE("{instance} becomes a number, with as many digits as it asks for") {
    CHECK(with_instance("m{instance}/{instance:03}.nc", 7) == "m7/007.nc");
    CHECK(with_instance("{instance:02}", 123) == "123");
    CHECK(with_instance("{other}", 1) == "{other}");
  }

  TEST_CASE("an ensemble becomes its members, each with its command, directory and environment") {
    const Workflow workflow = parse(
        "  model: {command: './model {instance}', directory: 'd{instance}', environment: {N: '{instance}'}, "
        "ranks: 2, instances: 3, at-most: 2}\n  analysis: {command: a}\n",
        "  - {path: 'd{instance}/x.nc', writer: model, readers: [analysis]}\n");
    REQUIRE(workflow.components.size() == 4);
    const Component& last = workflow.components[2];
    CHECK(last.name == "model.2");
    CHECK(last.ensemble == "model");
    CHECK(last.instance == 2);
    CHECK(last.instances == 3);
    CHECK(last.at_most == 2);
    CHECK(last.command == std::vector<std::string>{"./model", "2"});
    CHECK(last.directory == "/flows/d2");
    CHECK(last.environment.at("N") == "2");
    CHECK(workflow.components[3].ensemble.empty());
  }

  TEST_CASE("a rule with {instance} couples members of the same number, or all of them with one component") {
    const Workflow workflow = parse(
        "  model: {command: 'm {instance}', instances: 2}\n  post: {command: 'p {instance}', instances: 2}\n"
        "  analysis: {command: a}\n",
        "  - {path: 'x{instance}.nc', writer: model, readers: [post, analysis]}\n");
    REQUIRE(workflow.files.size() == 2);
    const FileRule& second = workflow.files[1];
    CHECK(second.pattern == "x1.nc");
    CHECK(second.family == "x{instance}.nc");
    CHECK(second.writer == "model.1");
    CHECK(second.readers == std::vector<std::string>{"post.1", "analysis"});
  }

  TEST_CASE("an ensemble among the readers of a rule without {instance} means all its members") {
    const Workflow workflow =
        parse("  model: {command: m}\n  post: {command: 'p {instance}', instances: 3}\n",
              "  - {path: x.nc, writer: model, readers: [post]}\n");
    REQUIRE(workflow.files.size() == 1);
    CHECK(workflow.files[0].readers == std::vector<std::string>{"post.0", "post.1", "post.2"});
  }

  TEST_CASE("a reader with .* means that each of its members reads the files of all") {
    const Workflow workflow = parse(
        "  model: {command: 'm {instance}', instances: 3}\n  post: {command: 'p {instance}', instances: 2}\n",
        "  - {path: 'x{instance}.nc', writer: model, readers: {post.*: latest, model: all, model.*: all}}\n");
    REQUIRE(workflow.files.size() == 3);
    const FileRule& last = workflow.files[2];
    CHECK(last.writer == "model.2");
    CHECK(last.readers == std::vector<std::string>{"post.0", "post.1", "model.2", "model.0", "model.1"});
    REQUIRE(last.modes.size() == 2);
    CHECK(last.modes[1].reader == "post.1");
  }

  TEST_CASE("patterns of members that overlap for one reader are told once") {
    try {
      (void)parse("  model: {command: 'm {instance}', instances: 30}\n  analysis: {command: a}\n",
                  "  - {path: 'x{instance}*.nc', writer: model, readers: [analysis]}\n");
      FAIL("no mistake");
    } catch (const WorkflowError& error) {
      REQUIRE(error.mistakes().size() == 1);
      CHECK(error.mistakes()[0].text.find("'x1*.nc'") != std::string::npos);
    }
  }

  TEST_CASE("instances that are started alike give a warning") {
    const Workflow workflow = parse("  model: {command: m, instances: 2}\n",
                                    "  - {path: x.nc, writer: model.1, readers: [model.0]}\n");
    REQUIRE(workflow.warnings.size() == 1);
    CHECK(workflow.warnings[0].text.find("are started alike") != std::string::npos);
  }
}

TEST_SUITE("failure policy") {
  TEST_CASE("times have units") {
    CHECK(parse_duration("500ms") == milliseconds(500));
    CHECK(parse_duration("1.5 s") == milliseconds(1500));
    CHECK(parse_duration("2min") == milliseconds(120000));
    CHECK(parse_duration("1h") == milliseconds(3600000));
    CHECK(parse_duration("0s") == milliseconds(0));
    for (const char* text : {"", "1", "s", "-1s", "1 day", "1e300h", "nan s", "1s2"})
      CHECK(!parse_duration(text));
  }

  TEST_CASE("a component goes on without another start, unless its keys say otherwise") {
    const Workflow workflow = parse(
        "  model: {command: m}\n  other: {command: o, restarts: 3, restart-delay: 20ms, on-failure: stop}\n",
        "  []\n");
    CHECK(workflow.components[0].failure.restarts == 0);
    CHECK(!workflow.components[0].failure.stops_run);
    CHECK(workflow.components[1].failure.restarts == 3);
    CHECK(workflow.components[1].failure.restart_delay == milliseconds(20));
    CHECK(workflow.components[1].failure.stops_run);
  }
}
