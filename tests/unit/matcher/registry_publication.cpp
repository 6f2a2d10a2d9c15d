// Steps that readers see while they are being written.
#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

bool has_event(const World& world, const std::string& words) {
  return std::ranges::any_of(world.answers.events,
                             [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

/// A step of one process with a header.
StepId begin(World& world, ProcessId writer, const std::string& name = "a.nc") {
  const StepId step = world.answer(world.create(writer, name, world.alone())).step;
  world.header(writer, step);
  return step;
}

/// Publishes a step with that many `requests`.
void publish(World& world, ProcessId writer, StepId step, std::uint64_t requests) {
  PublishRequest request;
  request.step = step;
  request.pattern.requests = Fingerprint{requests, requests};
  world.registry.close(writer, {std::move(request)});
}

}  // namespace

TEST_SUITE("registry: publication before the close") {
  TEST_CASE("an open waits for the first sync of all processes of the writing group, not of one") {
    World world(one_rule(PublishAt::sync));
    const auto writers = world.processes("model", 2);
    const StepId step = world.answer(world.create(writers[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(writers[1], "a.nc", world.member(1, 1, 2));
    world.header(writers[0], step);
    const auto open = world.open(world.process("analysis"), "a.nc", world.alone());
    world.sync(writers[0], step, 3);
    CHECK(world.is_waiting(open));
    world.sync(writers[1], step, 2);
    REQUIRE(world.is_opened(open));
    CHECK(world.answer(open).step == step);
    CHECK(world.answer(open).record_count == 3);
  }

  TEST_CASE("readers see the records of the last completed sync, and all records after the close") {
    World world(one_rule(PublishAt::sync));
    const auto writers = world.processes("model", 2);
    const StepId step = world.answer(world.create(writers[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(writers[1], "a.nc", world.member(1, 1, 2));
    for (const auto writer : writers) world.sync(writer, step, 1);
    const ProcessId reader = world.process("analysis");
    const auto open = world.open(reader, "a.nc", world.alone());
    world.sync(writers[0], step, 5);
    CHECK(world.registry.step_for_get(reader, step).records_for_readers() == 1);
    world.sync(writers[1], step, 5);
    CHECK(world.registry.step_for_get(reader, step).records_for_readers() == 5);
    world.publish(writers[0], step, 7);
    CHECK(world.registry.step_for_get(reader, step).records_for_readers() == 5);
    world.publish(writers[1], step, 7);
    CHECK(world.registry.step_for_get(reader, step).records_for_readers() == 7);
    CHECK(world.answers.ended_steps.contains(step));
    CHECK(world.is_opened(open));
  }

  TEST_CASE("a sync is refused where the rule publishes at the close") {
    World world(one_rule());
    const ProcessId writer = world.process("model");
    CHECK(world.refusal(world.sync(writer, begin(world, writer), 1)) == NC_EINVAL);
  }

  TEST_CASE("the synced data of a dead writer stays, and its later requests are refused") {
    World world(one_rule(PublishAt::sync));
    const auto writers = world.processes("model", 2);
    const StepId step = world.answer(world.create(writers[0], "a.nc", world.member(1, 0, 2))).step;
    world.create(writers[1], "a.nc", world.member(1, 1, 2));
    world.need(writers[1], step, mib);
    for (const auto writer : writers) world.sync(writer, step, 4);
    const ProcessId reader = world.process("analysis");
    world.open(reader, "a.nc", world.alone());
    world.registry.disconnect(writers[0]);
    CHECK(has_event(world, "'a.nc' ends with what was put before the last ncmpi_sync"));
    CHECK(world.memory.gone.size() == 1);
    const Step& seen = world.registry.step_for_get(reader, step);
    CHECK(seen.state == StepState::published);
    CHECK(seen.record_count == 4);
    CHECK(seen.pattern.whole.empty());
    CHECK(world.refusal(world.need(writers[1], step, mib)) == NC_EIO);
    CHECK(world.refusal(world.sync(writers[1], step, 9)) == NC_EIO);
    CHECK(world.refusal(world.header(writers[1], step)) == NC_EIO);
    world.publish(writers[1], step, 9);
    CHECK(world.registry.step_for_get(reader, step).record_count == 4);
    CHECK(world.answer(world.open(reader, "a.nc", world.alone())).record_count == 4);
  }

  TEST_CASE("of a writer that dies before the first sync nothing stays") {
    World world(one_rule(PublishAt::sync));
    const ProcessId writer = world.process("model");
    const StepId step = begin(world, writer);
    const auto open = world.open(world.process("analysis"), "a.nc", world.alone());
    world.registry.disconnect(writer);
    CHECK(world.is_waiting(open));
    CHECK(world.answers.erased_steps.contains(step));
    world.registry.component_exited("model", "was killed");
    CHECK(world.refusal(open) == NC_ENOENT);
  }

  TEST_CASE("a reader that closed a step before it grew has not consumed it") {
    for (const bool has_grown : {false, true}) {
      CAPTURE(has_grown);
      World world(one_rule(PublishAt::sync), 2 * mib, 0, {});
      const ProcessId writer = world.process("model");
      const ProcessId reader = world.process("analysis");
      const StepId step = begin(world, writer);
      world.need(writer, step, mib);
      world.sync(writer, step, 1);
      world.read(reader, "a.nc");
      publish(world, writer, step, has_grown ? 2 : 1);
      // The second file gets the first one's memory only when that has been read.
      const StepId next = begin(world, writer, "b.nc");
      CHECK(world.is_granted(world.need(writer, next, 3 * mib / 2)) == !has_grown);
    }
  }

  TEST_CASE("where each put is visible an open waits for the header only, and closing it is reading it") {
    World world(one_rule(PublishAt::write), 2 * mib, 0, {});
    const ProcessId writer = world.process("model");
    const ProcessId reader = world.process("analysis");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    const auto open = world.open(reader, "a.nc", world.alone());
    CHECK(world.is_waiting(open));
    world.header(writer, step);
    REQUIRE(world.is_opened(open));
    world.need(writer, step, mib);
    world.close(reader, step);
    publish(world, writer, step, 1);
    const StepId next = begin(world, writer, "b.nc");
    CHECK(world.is_granted(world.need(writer, next, 3 * mib / 2)));
  }

  TEST_CASE("a get that waits is in the status, until it is taken back") {
    World world(one_rule(PublishAt::write));
    const ProcessId writer = world.process("model");
    const ProcessId reader = world.process("analysis");
    const StepId step = begin(world, writer);
    world.open(reader, "a.nc", world.alone());
    const auto get = world.wait_for_puts(reader, step, "'a.nc' (variable v)");
    CHECK(world.is_waiting(get));
    const auto waits = world.registry.view({}).waits;
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].component == "analysis");
    CHECK(waits[0].waits_for == "data of 'a.nc' (variable v), which model has not put yet");
    world.registry.end_get_wait({0, get});
    CHECK(world.registry.view({}).waits.empty());
  }

  TEST_CASE("a cycle of gets that wait for each other's puts fails, and is named") {
    World world({{"x.nc", "a", {"b"}, true, PublishAt::write}, {"y.nc", "b", {"a"}, true, PublishAt::write}},
                64 * mib, {{"a", 1}, {"b", 1}});
    const ProcessId a = world.process("a");
    const ProcessId b = world.process("b");
    const StepId x = begin(world, a, "x.nc");
    world.rule = 1;
    const StepId y = begin(world, b, "y.nc");
    world.open(a, "y.nc", world.alone());
    world.rule = 0;
    world.open(b, "x.nc", world.alone());
    const auto first = world.wait_for_puts(a, y, "'y.nc' (variable v)");
    CHECK(world.is_waiting(first));
    const auto second = world.wait_for_puts(b, x, "'x.nc' (variable w)");
    CHECK(world.refusal(first) == NC_EIO);
    CHECK(world.refusal(second) == NC_EIO);
    CHECK(world.answer(first).text.find("a cycle of waits: ") != std::string::npos);
    CHECK(world.answer(first).text.find("'x.nc' (variable w)") != std::string::npos);
    CHECK(world.answer(first).text.find("'y.nc' (variable v)") != std::string::npos);
    CHECK_FALSE(world.answers.has_answered_twice);
  }

  TEST_CASE("a put without memory fails when the only reader waits for that very put") {
    World world(one_rule(PublishAt::write), 2 * mib, 0, {{"model", 1}, {"analysis", 1}});
    const ProcessId writer = world.process("model");
    const ProcessId reader = world.process("analysis");
    const StepId step = begin(world, writer);
    world.open(reader, "a.nc", world.alone());
    world.need(writer, step, mib);
    const auto get = world.wait_for_puts(reader, step, "'a.nc' (variable v)");
    CHECK(world.refusal(world.need(writer, step, 3 * mib / 2)) == NC_ENO_SPACE);
    CHECK(world.is_waiting(get));  // the writer continues
  }
}
