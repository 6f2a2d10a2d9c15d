#include <doctest/doctest.h>

#include "sluice/matcher/registry.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

StepId publish_version(World& world, ProcessId writer, const std::string& name, std::uint8_t version) {
  const auto created = world.create(writer, name, world.alone(), false, version);
  const StepId step = world.answer(created).step;
  world.header(writer, step);
  world.publish(writer, step);
  return step;
}

}  // namespace

TEST_SUITE("registry: inquiries about datasets") {
  TEST_CASE("an inquiry is answered with the version of the newest published step") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    publish_version(world, writer, "a.nc", 2);
    CHECK(world.described(world.inquire(reader, "a.nc")) == 2);
    publish_version(world, writer, "a.nc", 5);
    CHECK(world.described(world.inquire(reader, "a.nc")) == 5);
    CHECK(world.described(world.inquire(writer, "a.nc")) == 5);
    CHECK_FALSE(world.answers.has_answered_twice);
  }

  TEST_CASE("an inquiry waits for the first publication, and is among the waits meanwhile") {
    World world(one_rule());
    const auto writer = world.process("model");
    const auto asked = world.inquire(world.process("analysis"), "a.nc");
    CHECK(world.is_waiting(asked));
    const auto status = world.registry.view({});
    REQUIRE(status.waits.size() == 1);
    CHECK(status.waits[0].component == "analysis");
    CHECK(status.waits[0].waits_for.find("a.nc") != std::string::npos);
    publish_version(world, writer, "a.nc", 5);
    CHECK(world.described(asked) == 5);
    CHECK(world.registry.view({}).waits.empty());
  }

  TEST_CASE("an inquiry does not count as a read, and keeps no step from being superseded") {
    World world(one_rule(), 64 * mib, 0, {});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const StepId first = world.write(writer, "a.nc", mib);
    CHECK(world.described(world.inquire(reader, "a.nc")) == 1);
    // 60 MiB more do not fit while the unread step has its MiB. The step must not go.
    const StepId second = world.answer(world.create(writer, "b.nc", world.alone())).step;
    const auto large = world.need(writer, second, 63 * mib + 1);
    CHECK(world.is_waiting(large));
    CHECK_FALSE(world.answers.erased_steps.contains(first));
    CHECK(world.read(reader, "a.nc") == first);
    CHECK(world.is_granted(large));
  }

  TEST_CASE("an inquiry about a file that can never come is refused, at once or when this is certain") {
    World world(one_rule());
    const auto reader = world.process("analysis");
    const auto asked = world.inquire(reader, "a.nc");
    CHECK(world.is_waiting(asked));
    world.registry.component_exited("model", "exited with status 1");
    CHECK(world.refusal(asked) == NC_ENOENT);
    CHECK(world.refusal(world.inquire(reader, "a.nc")) == NC_ENOENT);
    REQUIRE_FALSE(world.answers.events.empty());
    CHECK(world.answers.events.back().find("inquire") != std::string::npos);
  }

  TEST_CASE("inquiries of the writer component are answered once its step has a header") {
    World world(one_rule());
    const auto p = world.processes("model", 2);
    CHECK(world.refusal(world.inquire(p[0], "a.nc")) == NC_ENOENT);
    const StepId step = world.answer(world.create(p[0], "a.nc", world.alone(), false, 5)).step;
    CHECK(world.refusal(world.inquire(p[0], "a.nc")) == NC_EFILE);
    world.header(p[0], step);
    CHECK(world.described(world.inquire(p[0], "a.nc")) == 5);
    CHECK(world.described(world.inquire(p[1], "a.nc")) == 5);
    const auto asked = world.inquire(world.process("analysis"), "a.nc");
    CHECK(world.is_waiting(asked));
    world.publish(p[0], step);
    CHECK(world.described(asked) == 5);
  }

  TEST_CASE("inquiries of readers that may see a step in progress are answered") {
    World world(one_rule(PublishAt::write));
    const auto writer = world.process("model");
    const auto asked = world.inquire(world.process("analysis"), "a.nc");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone(), false, 2)).step;
    CHECK(world.is_waiting(asked));
    world.header(writer, step);
    CHECK(world.described(asked) == 2);
  }

  TEST_CASE("a process that ends while its inquiry waits leaves nothing behind") {
    World world(one_rule());
    const auto reader = world.process("analysis");
    const auto asked = world.inquire(reader, "a.nc");
    world.registry.disconnect(reader);
    CHECK(world.registry.view({}).waits.empty());
    publish_version(world, world.process("model"), "a.nc", 5);
    CHECK(world.is_waiting(asked));  // no process is left to be told
  }

  TEST_CASE("a component that neither writes nor reads a file may not inquire about it") {
    World world(one_rule());
    CHECK(world.refusal(world.inquire(world.process("stranger"), "a.nc")) == NC_EPERM);
  }
}
