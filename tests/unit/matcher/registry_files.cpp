#include <doctest/doctest.h>

#include <algorithm>

#include "sluice/matcher/registry.hpp"
#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

/// model writes, analysis and picture read, and all data is in files.
std::vector<FileRule> rule_of_files() {
  return {{"*.nc", "model", {"analysis", "picture"}, true, PublishAt::close, Through::file}};
}

bool tells(const World& world, const std::string& text) {
  return std::ranges::any_of(world.answers.events,
                             [&](const std::string& event) { return event.find(text) != std::string::npos; });
}

}  // namespace

TEST_SUITE("registry: data in files") {
  TEST_CASE("a step in files takes no memory, and readers get the file's path") {
    World world(rule_of_files());
    const auto writer = world.process("model");
    const auto asked = world.open(world.process("analysis"), "a.nc", world.alone());
    const auto created = world.ask([&](const Ticket& ticket) {
      world.registry.open(ticket, writer, {{0, "a.nc"}, world.alone(), "/data/a.nc", Purpose::create});
    });
    CHECK(world.memory.sizes.empty());
    CHECK(world.is_waiting(asked));
    const StepId step = world.answer(created).step;
    CHECK(world.registry.step(step).path == "/data/a.nc");
    world.publish(writer, step);
    CHECK(world.answer(asked).step == step);
  }

  TEST_CASE("a writer waits with writing a file again until all readers have closed it") {
    World world(rule_of_files());
    const auto writer = world.process("model");
    const auto analysis = world.process("analysis");
    const auto picture = world.process("picture");
    const StepId first = world.write(writer, "a.nc");
    world.write(writer, "other.nc");
    world.open(analysis, "a.nc", world.alone());
    world.open(picture, "a.nc", world.alone());
    std::uint32_t again = 0;
    SUBCASE("by creating it anew") {
      again = world.create(writer, "a.nc", world.alone());
    }
    SUBCASE("by reopening it") {
      again = world.reopen(writer, "a.nc", world.alone());
    }
    CHECK_FALSE(world.is_waiting(world.create(writer, "other.nc", world.alone())));
    CHECK(world.registry.view({}).waits.at(0).waits_for.find("has open for reading") != std::string::npos);
    world.close(analysis, first);
    CHECK(world.is_waiting(again));
    world.registry.disconnect(picture);  // it can no longer close the file
    CHECK_FALSE(world.is_waiting(again));
    const StepId second = world.answer(again).step;
    REQUIRE(second != 0);
    const auto late = world.open(analysis, "a.nc", world.alone());
    CHECK(world.is_waiting(late));  // the published step is being overwritten
    world.publish(writer, second);
    CHECK(world.answer(late).step == second);
    CHECK_FALSE(world.answers.has_answered_twice);
  }

  TEST_CASE("a group of which one process reads keeps the writer waiting until all have closed") {
    World world(rule_of_files());
    const auto writer = world.process("model");
    const auto readers = world.processes("analysis", 2);
    const StepId step = world.write(writer, "a.nc");
    world.open(readers[0], "a.nc", world.member(1, 0, 2));
    world.close(readers[0], step);
    const auto again = world.create(writer, "a.nc", world.alone());
    CHECK(world.is_waiting(again));
    CHECK(world.answer(world.open(readers[1], "a.nc", world.member(1, 1, 2))).step == step);
    world.close(readers[1], step);
    CHECK(world.is_created(again));
  }

  TEST_CASE("a writer that dies in mid-step spoils the file: its earlier contents are lost") {
    World world(rule_of_files());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a.nc");
    world.ask([&](const Ticket& ticket) {
      world.registry.open(ticket, writer, {{0, "a.nc"}, world.alone(), "/data/a.nc", Purpose::write});
    });
    const auto asked = world.open(reader, "a.nc", world.alone());
    world.registry.disconnect(writer);
    CHECK(world.is_waiting(asked));  // another process of the writer may write the file
    world.registry.component_exited("model", "was killed");
    CHECK(world.refusal(asked) == NC_ENOENT);
    CHECK(tells(world, "the part of /data/a.nc that it has written is kept"));
  }

  TEST_CASE("what several processes write at once is published when the last one has closed it") {
    World world(rule_of_files());
    const auto writers = world.processes("model", 3);
    const auto reader = world.process("analysis");
    std::vector<StepId> steps;
    for (const ProcessId writer : writers)
      steps.push_back(world.answer(world.create(writer, "a.nc", world.alone())).step);
    const auto asked = world.open(reader, "a.nc", world.alone());
    world.publish(writers[1], steps[1]);
    SUBCASE("all close it") {
      world.publish(writers[2], steps[2]);
      CHECK(world.is_waiting(asked));
      world.publish(writers[0], steps[0]);
      CHECK(world.answer(asked).step == steps[0]);
      CHECK(world.registry.status().datasets.at(0).steps_published == 1);
      CHECK(world.registry.status().datasets.at(0).steps_discarded == 0);
      CHECK(world.answers.events.empty());
    }
    SUBCASE("one dies: the file is spoilt, whatever the others do") {
      world.registry.disconnect(writers[0]);
      world.publish(writers[2], steps[2]);
      CHECK(world.is_waiting(asked));  // another process may write the file anew
      world.registry.component_exited("model", "was killed");
      CHECK(world.refusal(asked) == NC_ENOENT);
    }
    SUBCASE("one has only looked at it") {
      world.registry.close(writers[0], {Discard{steps[0], StepEnd::untouched}});
      world.publish(writers[2], steps[2]);
      CHECK(world.answer(asked).step == steps[2]);
    }
    SUBCASE("the last one has only looked at it") {
      world.publish(writers[2], steps[2]);
      CHECK(world.is_waiting(asked));
      world.registry.close(writers[0], {Discard{steps[0], StepEnd::untouched}});
      CHECK(world.answer(asked).step == steps[0]);
    }
  }

  TEST_CASE("a step that was not begun leaves the file as it was, and no trace") {
    World world(rule_of_files());
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const StepId first = world.write(writer, "a.nc");
    const StepId second = world.answer(world.reopen(writer, "a.nc", world.alone())).step;
    const auto asked = world.open(reader, "a.nc", world.alone());
    CHECK(world.is_waiting(asked));
    world.registry.close(writer, {Discard{second, StepEnd::untouched}});
    CHECK(world.answer(asked).step == first);
    CHECK(world.answers.events.empty());
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 0);
  }

  TEST_CASE("a file that is on the disk already may be reopened, one that is not published may be deleted") {
    World world(rule_of_files());
    const auto writer = world.process("model");
    CHECK(world.is_opened(world.reopen(writer, "a.nc", world.alone())));
    CHECK(world.answer(world.remove(writer, "b.nc")).kind == Answer::Kind::done);
  }

  TEST_CASE("a writer that waits for a reader which waits for it is refused, and the cycle is named") {
    World world(rule_of_files(), 64 * mib, {{"model", 1}, {"analysis", 1}, {"picture", 1}});
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    world.write(writer, "a.nc");
    world.open(reader, "a.nc", world.alone());
    const auto again = world.create(writer, "a.nc", world.alone());
    CHECK(world.is_waiting(again));
    const auto asked = world.open(reader, "b.nc", world.alone());
    CHECK(world.refusal(again) == NC_EIO);
    CHECK(world.refusal(asked) == NC_ENOENT);
    CHECK(tells(world, "a cycle of waits: "));
    CHECK(tells(world, "'a.nc', which analysis has open for reading"));
  }

  TEST_CASE("a writer that has the file open for reading itself is refused") {
    World world(rule_of_files(), 64 * mib, {{"model", 1}, {"analysis", 1}, {"picture", 1}});
    const auto writer = world.process("model");
    world.write(writer, "a.nc");
    world.open(writer, "a.nc", world.alone());
    CHECK(world.refusal(world.create(writer, "a.nc", world.alone())) == NC_EIO);
  }

  /// By the C library, in memory or in place.
  std::uint32_t create_file(World & world, ProcessId writer, bool is_in_place) {
    Open request{{0, "a.nc"}, world.alone(), "/data/a.nc", Purpose::create};
    request.version = 0;
    request.goes_on = true;
    request.is_in_place = is_in_place;
    return world.ask([&](const Ticket& ticket) { world.registry.open(ticket, writer, request); });
  }

  TEST_CASE(
      "under a rule in memory, a file that is written in place is read on the disk when all have closed it") {
    World world({{"*.nc", "model", {"analysis"}, true}});
    const auto one = world.process("model");
    const auto other = world.process("model");
    const StepId first = world.answer(create_file(world, one, true)).step;
    const StepId second = world.answer(create_file(world, other, true)).step;
    const auto asked = world.open(world.process("analysis"), "a.nc", world.alone());
    world.publish(one, first);
    CHECK(world.is_waiting(asked));
    world.publish(other, second);
    CHECK(world.answer(asked).step == second);
    CHECK(world.registry.step(second).is_in_files);
  }

  TEST_CASE("a file that goes from memory to the disk, or back, waits until it is published") {
    World world({{"*.nc", "model", {"analysis"}, true}});
    const auto one = world.process("model");
    const auto other = world.process("model");
    for (const bool is_in_place : {false, true}) {
      const StepId first = world.answer(create_file(world, one, is_in_place)).step;
      const auto next = create_file(world, other, !is_in_place);
      CHECK(world.is_waiting(next));
      world.publish(one, first);
      world.publish(other, world.answer(next).step);
    }
  }
}
