#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

/// A communicator of ranks 1, 3, 5, … of the component.
Gathering gathering(std::uint32_t rank, std::uint32_t size) {
  return {{0, "a.nc"}, Gathering::Call::open, rank, size, 7, 1, 2, 0, false};
}

}  // namespace

TEST_SUITE("registry: who has come to a collective call") {
  TEST_CASE("the status shows which ranks are in a call until all are, or the call has ended") {
    World world(one_rule());
    const ProcessId first = world.process("analysis");
    const ProcessId second = world.process("analysis");
    auto& registry = world.registry;
    registry.note(first, {gathering(0, 3)});
    auto told = registry.view({}).gatherings;
    REQUIRE(told.size() == 1);
    CHECK(told[0].component == "analysis");
    CHECK(told[0].call == "open of a.nc");
    CHECK(told[0].present == 1);
    CHECK(told[0].size == 3);
    CHECK(told[0].absent == std::vector<std::uint32_t>{3, 5});
    registry.note(second, {gathering(1, 3)});
    told = registry.view({}).gatherings;
    REQUIRE(told.size() == 1);
    CHECK(told[0].absent == std::vector<std::uint32_t>{5});
    for (const std::uint32_t rank : {0U, 1U}) {
      Gathering over = gathering(rank, 3);
      over.is_over = true;
      registry.note(rank == 0 ? first : second, {over});
      CHECK(registry.view({}).gatherings.size() == 1 - rank);
    }
  }

  TEST_CASE("other communicators and calls are others, and a process that ends has left") {
    World world(one_rule());
    const ProcessId process = world.process("analysis");
    world.registry.note(process, {gathering(0, 2)});
    Gathering other = gathering(0, 2);
    other.ranks = 8;
    other.stride = 0;
    other.first_rank = 0;
    world.registry.note(process, {other});
    auto create = gathering(0, 2);
    create.call = Gathering::Call::create;
    world.registry.note(process, {create});
    const auto told = world.registry.view({}).gatherings;
    REQUIRE(told.size() == 3);
    CHECK(told[0].are_its_ranks);
    CHECK_FALSE(told[1].are_its_ranks);
    CHECK(told[1].absent == std::vector<std::uint32_t>{1});
    CHECK(told[2].call == "create of a.nc");
    CHECK_THROWS_AS(world.registry.note(process, {gathering(2, 2)}), Error);
    world.registry.disconnect(process);
    CHECK(world.registry.view({}).gatherings.empty());
  }

  TEST_CASE("a process that waits for others in a collective call does not count as stuck") {
    // The writer's only connected rank is in create and waits for the other rank, which has no connection
    // yet. A reader of the file continues to wait.
    World world(one_rule(), 64 * mib, {{"model", 2}, {"analysis", 1}});
    const ProcessId model = world.process("model");
    const ProcessId analysis = world.process("analysis");
    Gathering create = gathering(0, 2);
    create.call = Gathering::Call::create;
    world.registry.note(model, {create});
    CHECK(world.is_waiting(world.open(analysis, "a.nc", world.alone())));
    CHECK(world.registry.view({}).gatherings.size() == 1);
    world.registry.look_again();
    world.registry.look_again();
    CHECK(world.answers.events.empty());
  }

  TEST_CASE("when all others of the component are stuck, too, the run is told") {
    // Rank 1 waits for memory that only the reader can free. The reader waits for the next file, in whose
    // create rank 0 waits for rank 1.
    World world(one_rule(), 1 * mib, {{"model", 2}, {"analysis", 1}});
    const ProcessId first = world.process("model");
    const ProcessId second = world.process("model");
    const ProcessId analysis = world.process("analysis");
    (void)world.write(first, "a.nc", 900 << 10);
    CHECK(world.is_waiting(world.open(analysis, "c.nc", world.alone())));
    const StepId own = world.answer(world.create(second, "b.nc", world.alone())).step;
    CHECK(world.is_waiting(world.need(second, own, 900 << 10)));
    Gathering create = gathering(0, 2);
    create.call = Gathering::Call::create;
    create.key.name = "c.nc";
    world.registry.look_again();
    world.registry.look_again();
    CHECK(world.answers.events.empty());
    world.registry.note(first, {create});
    world.registry.look_again();
    CHECK(world.answers.events.empty());
    world.registry.look_again();
    REQUIRE(world.answers.events.size() == 1);
    CHECK(world.answers.events.front().starts_with("this may be a cycle of waits: "));
    CHECK(world.answers.events.front().find("model waits for memory") != std::string::npos);
    // Somebody comes: it was none.
    create.is_over = true;
    world.registry.note(first, {create});
    world.registry.look_again();
    world.registry.look_again();
    CHECK(world.answers.events.size() == 1);
  }
}
