#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

std::vector<FileRule> rule_through(Through through = Through::memory) {
  return {{"*.nc", "model", {"model", "viewer"}, true, PublishAt::close, through}};
}

}  // namespace

TEST_SUITE("registry: files from before the run") {
  TEST_CASE("a writer gets the old file until it has made a new one, and readers wait for the new one") {
    World world(rule_through());
    const auto writer = world.process("model");
    const auto reader = world.process("viewer");
    const auto asked = world.open_earlier(reader, "a.nc");
    CHECK(world.file(world.open_earlier(writer, "a.nc")) == "/files/a.nc");
    CHECK(world.file(world.open_earlier(writer, "a.nc", true)) == "/files/a.nc");
    CHECK(world.refusal(world.open(writer, "a.nc", world.alone())) == NC_ENOENT);  // it is not on disk
    CHECK(world.is_waiting(asked));
    const StepId step = world.write(writer, "a.nc");
    CHECK(world.answer(asked).step == step);
    CHECK(world.answer(world.open_earlier(writer, "a.nc")).step == step);
  }

  TEST_CASE("a reader never gets it, also when nothing can come any more") {
    World world(rule_through());
    const auto asked = world.open_earlier(world.process("viewer"), "a.nc");
    world.registry.component_exited("model", "exited with status 0");
    CHECK(world.refusal(asked) == NC_ENOENT);
  }

  TEST_CASE(
      "of several groups that go on in it one imports it, and the others go on in what that makes of it") {
    World world(rule_through());
    const auto p = world.processes("model", 2);
    REQUIRE(world.file(world.open_earlier(p[0], "a.nc", true)) == "/files/a.nc");
    REQUIRE(world.file(world.open_earlier(p[1], "a.nc", true)) == "/files/a.nc");
    const StepId step = world.answer(world.import(p[0], "a.nc")).step;
    CHECK(world.refusal(world.import(p[1], "a.nc")) == NC_EEXIST);
    const auto again = world.open_earlier(p[1], "a.nc", true);
    CHECK(world.is_waiting(again));
    world.publish(p[0], step);
    CHECK(world.is_opened(again));
    CHECK(world.answer(again).logs == 2);  // including the log of the import
  }

  TEST_CASE("a file that the run has deleted or aborted is missing, although an old file exists") {
    World world(rule_through());
    const auto writer = world.process("model");
    SUBCASE("deleted") {
      world.write(writer, "a.nc");
      world.remove(writer, "a.nc");
    }
    SUBCASE("given up") {
      world.registry.close(writer, {Discard{world.answer(world.create(writer, "a.nc", world.alone())).step}});
    }
    CHECK(world.refusal(world.open_earlier(writer, "a.nc")) == NC_ENOENT);
    CHECK(world.refusal(world.open_earlier(writer, "a.nc", true)) == NC_ENOENT);
  }

  TEST_CASE("an inquiry of its writer says that the file tells") {
    World world(rule_through());
    Open request{{0, "a.nc"}, world.alone(), "/files/a.nc", Purpose::describe};
    request.is_on_disk = true;
    const auto asked = world.ask(
        [&](const Ticket& ticket) { world.registry.open(ticket, world.process("model"), request); });
    CHECK(world.answer(asked).kind == Answer::Kind::described);
    CHECK(world.described(asked) == 0);
  }

  TEST_CASE("where data is in files, it is read as it is, and gone on with in its place") {
    World world(rule_through(Through::file));
    const auto writer = world.process("model");
    CHECK(world.file(world.open_earlier(writer, "a.nc")) == "/files/a.nc");
    CHECK(world.is_opened(world.open_earlier(writer, "a.nc", true)));
  }
}
