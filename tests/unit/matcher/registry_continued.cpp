// Processes that reopen a step continue its logs.
#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

struct Written {
  StepId step = 0;
  SegmentId table = 0;
  SegmentId data = 0;
};

/// A process's first step: a table and data, with 100 bytes used in each.
Written create_and_publish(World& world, ProcessId p) {
  Written written;
  written.step = world.answer(world.create(p, "a.nc", world.alone())).step;
  written.table = world.answer(world.need(p, written.step, 64 * kib, SegmentUse::table)).segment;
  written.data = world.answer(world.need(p, written.step, mib)).segment;
  world.registry.close(p,
                       {PublishRequest{written.step, 1, {}, {}, {{0, 0, 100, written.data, 0}}, {1, 96, 0}}});
  return written;
}

std::uint32_t reopen(World& world, ProcessId p, StepId continues) {
  Open request{{0, "a.nc"}, world.alone(), {}, Purpose::write};
  request.continues = continues;
  return world.ask([&](const Ticket& t) { world.registry.open(t, p, request); });
}

}  // namespace

TEST_SUITE("matcher.registry.continued") {
  TEST_CASE("a step continues the log of the previous one, and takes only the memory that it adds") {
    World world(one_rule());
    const auto model = world.process("model");
    const Written first = create_and_publish(world, model);
    const std::uint64_t after_first = world.registry.pool().used_bytes();
    CHECK(after_first == 8 * kib);
    StepId last = first.step;
    for (std::uint64_t i = 1; i <= 100; ++i) {
      last = world.answer(reopen(world, model, last)).step;
      const Step& step = world.registry.step(last);
      REQUIRE(step.is_continued);
      CHECK(step.logs.size() == 1);
      CHECK(step.logs[0]->begin.bytes == 96 * i);
      CHECK(step.logs[0]->first_offset == (i == 1 ? 128 : 128 * i));
      world.registry.close(model, {PublishRequest{last,
                                                  static_cast<std::int64_t>(1 + i),
                                                  {},
                                                  {},
                                                  {{0, 0, 128 * i + 100, first.data, 0}},
                                                  {1, 96 * (i + 1), 0}}});
      const LogView view = world.registry.step(last).view().logs[0];
      CHECK(view.published.bytes == 96 * (i + 1));
      CHECK(view.is_complete);
    }
    CHECK(world.registry.pool().used_bytes() <= after_first + 100 * (128 + 96) + 2 * 4 * kib);
  }

  TEST_CASE("an earlier step that is still open keeps its data") {
    World world(one_rule());
    const auto model = world.process("model");
    const auto analysis = world.process("analysis");
    const Written first = create_and_publish(world, model);
    CHECK(world.is_opened(world.open(analysis, "a.nc", world.alone())));
    const StepId second = world.answer(reopen(world, model, first.step)).step;
    world.registry.close(model,
                         {PublishRequest{second, 2, {}, {}, {{0, 0, 300, first.data, 0}}, {1, 200, 0}}});
    CHECK(world.registry.step(first.step).view().logs[0].published.bytes == 96);
    CHECK(world.registry.step(first.step).view().logs[0].ranges[0].length_bytes == 100);
    world.close(analysis, first.step);
    CHECK(world.answers.erased_steps == std::set<StepId>{first.step});
    CHECK_FALSE(world.memory.destroyed.contains(first.data));
  }

  TEST_CASE("other processes, and those that name another step, get new logs") {
    World world(one_rule());
    const auto model = world.process("model");
    const Written first = create_and_publish(world, model);
    const StepId second = world.answer(reopen(world, model, 0)).step;
    CHECK_FALSE(world.registry.step(second).is_continued);
    CHECK(world.registry.step(second).logs.size() == 2);
    world.publish(model, second, 2);
    const StepId third = world.answer(reopen(world, model, first.step)).step;
    CHECK(world.registry.step(third).logs.size() == 3);
  }

  TEST_CASE("a step that its writer gave up leaves the one before as it was") {
    World world(one_rule());
    const auto model = world.process("model");
    const Written first = create_and_publish(world, model);
    const StepId second = world.answer(reopen(world, model, first.step)).step;
    const SegmentId added = world.answer(world.need(model, second, mib)).segment;
    world.registry.close(model, {Discard{second}});
    CHECK(world.registry.step(first.step).view().logs[0].data.size() == 1);
    CHECK(world.registry.step(first.step).view().logs[0].data[0].segment != added);
    CHECK(world.registry.step(first.step).view().logs[0].published.bytes == 96);
  }

  TEST_CASE("if the ends of the segments do not fit any more, the step gets new logs") {
    World world(one_rule(), 2 * mib);
    const auto model = world.process("model");
    const Written first = create_and_publish(world, model);
    const StepId other = world.answer(world.create(model, "b.nc", world.alone())).step;
    REQUIRE(world.is_granted(world.need(model, other, 1280 * kib)));
    const StepId second = world.answer(reopen(world, model, first.step)).step;
    REQUIRE(second != 0);
    CHECK_FALSE(world.registry.step(second).is_continued);
  }
}
