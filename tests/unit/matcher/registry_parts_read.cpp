// Who has read a part of a file because its writer went on in it.
#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

std::vector<FileRule> rule_of_two_readers() {
  return {{"*.nc", "model", {"analysis", "picture"}, false}};
}

std::vector<PartlyRead> parts(const World& world) {
  return world.registry.status().rules.at(0).partly_read;
}

void go_on(World& world, ProcessId writer, const std::string& name) {
  const StepId step = world.answer(world.reopen(writer, name, world.alone())).step;
  world.publish(writer, step);
}

}  // namespace

TEST_SUITE("registry: parts of files") {
  TEST_CASE("who has read a file before its writer went on is told, until it reads the whole") {
    World world(rule_of_two_readers());
    const auto model = world.process("model");
    const auto analysis = world.process("analysis");
    const auto picture = world.process("picture");
    world.write(model, "a.nc");
    world.read(analysis, "a.nc");
    CHECK(parts(world).empty());
    go_on(world, model, "a.nc");
    REQUIRE(parts(world).size() == 1);
    CHECK(parts(world)[0].reader == "analysis");
    CHECK(parts(world)[0].name == "a.nc");
    CHECK(parts(world)[0].closes == 2);
    CHECK(parts(world)[0].is_by_puts);
    world.read(picture, "a.nc");
    go_on(world, model, "a.nc");
    CHECK(parts(world).size() == 2);
    CHECK(parts(world)[0].closes == 3);
    world.read(analysis, "a.nc");
    REQUIRE(parts(world).size() == 1);
    CHECK(parts(world)[0].reader == "picture");
    SUBCASE("and all is well") {
      world.read(picture, "a.nc");
      CHECK(parts(world).empty());
    }
    SUBCASE("what is made anew does not give it the rest") {
      world.write(model, "a.nc");
      world.read(picture, "a.nc");
      REQUIRE(parts(world).size() == 1);
      CHECK(parts(world)[0].files == 1);
    }
  }

  TEST_CASE("several files are counted, and closed as often as the writer says") {
    World world(rule_of_two_readers());
    const auto model = world.process("model");
    const auto analysis = world.process("analysis");
    for (const std::string name : {"a.nc", "b.nc"}) {
      world.write(model, name);
      world.read(analysis, name);
      PublishRequest publish;
      publish.step = world.answer(world.reopen(model, name, world.alone())).step;
      publish.file_bytes = 5;
      publish.closes = 4;
      world.registry.close(model, {PublishRequest(publish)});
    }
    REQUIRE(parts(world).size() == 1);
    CHECK(parts(world)[0].files == 2);
    CHECK(parts(world)[0].closes == 4);
    CHECK_FALSE(parts(world)[0].is_by_puts);
    go_on(world, model, "b.nc");
    CHECK(parts(world)[0].closes == 0);
  }

  TEST_CASE("who asks for parts is not told: by publish, by a stream, by a mode, and the writer itself") {
    std::vector<FileRule> rules = rule_of_two_readers();
    rules[0].readers = {"analysis"};
    SUBCASE("publish") {
      rules[0].publish_at = PublishAt::sync;
    }
    SUBCASE("stream") {
      rules[0].is_stream = true;
    }
    SUBCASE("mode") {
      rules[0].modes = {{"analysis", ReadMode::latest, 1}};
    }
    SUBCASE("the writer") {
      rules[0].writer = "analysis";
    }
    World world(rules);
    const auto writer = world.process(rules[0].writer);
    world.write(writer, "a.nc");
    world.read(world.process("analysis"), "a.nc");
    go_on(world, writer, "a.nc");
    CHECK(parts(world).empty());
  }
}
