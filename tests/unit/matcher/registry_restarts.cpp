#include <doctest/doctest.h>

#include <algorithm>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

/// Room for four files of 1 MiB, and for what processes of a group share.
constexpr std::uint64_t little = 4 * mib + 128 * kib;

/// model writes, analysis reads. Each may be started again twice. 0 processes: not known.
World restarting(std::uint32_t readers, std::uint64_t memory_bytes = 64 * mib) {
  return {one_rule(), memory_bytes, 0, {{"model", 1, 2}, {"analysis", readers, 2}}};
}

void fail(World& world, const std::string& component) {
  world.registry.component_restarts(component, "was killed by signal 9 (SIGKILL)");
}

std::ptrdiff_t ended_components(const World& world) {
  return std::ranges::count_if(world.registry.view({}).components, &ComponentView::has_exited);
}

}  // namespace

TEST_SUITE("registry: restarts") {
  TEST_CASE("what a reader had open when it died stays for its next start") {
    World world = restarting(1, little);
    const auto writer = world.process("model");
    world.write(writer, "a.nc", mib);
    const auto reader = world.process("analysis");
    world.answer(world.open(reader, "a.nc", world.alone()));
    world.registry.disconnect(reader);
    fail(world, "analysis");
    for (const char* name : {"b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    const StepId full = world.answer(world.create(writer, "e.nc", world.alone())).step;
    const auto waits = world.need(writer, full, mib);
    CHECK(world.is_waiting(waits));
    const auto again = world.process("analysis");
    CHECK(world.read(again, "a.nc") != 0);
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("what all processes of a reader had closed is not needed by its next start") {
    World world = restarting(2, little);
    const auto writer = world.process("model");
    for (const char* name : {"a.nc", "b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    for (const auto reader : world.processes("analysis", 2)) world.read(reader, "a.nc");
    fail(world, "analysis");
    const StepId next = world.answer(world.create(writer, "e.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(writer, next, mib)));
  }

  TEST_CASE("what only some processes had closed is needed by all processes of the next start") {
    World world = restarting(2, little);
    const auto writer = world.process("model");
    for (const char* name : {"a.nc", "b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    const auto readers = world.processes("analysis", 2);
    world.read(readers[0], "a.nc");
    world.registry.disconnect(readers[1]);
    world.registry.disconnect(readers[0]);
    fail(world, "analysis");
    const StepId next = world.answer(world.create(writer, "e.nc", world.alone())).step;
    const auto waits = world.need(writer, next, mib);
    const auto again = world.processes("analysis", 2);
    world.read(again[0], "a.nc");
    CHECK(world.is_waiting(waits));
    world.read(again[1], "a.nc");
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("what a reader of unknown size has closed goes only where there is no other room") {
    World world = restarting(0, little);
    const auto writer = world.process("model");
    for (const char* name : {"a.nc", "b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    const auto reader = world.process("analysis");
    world.read(reader, "a.nc");
    world.answer(world.open(reader, "b.nc", world.alone()));
    fail(world, "analysis");
    world.process("analysis");
    StepId next = world.answer(world.create(writer, "e.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(writer, next, mib)));  // in place of a.nc
    world.publish(writer, next);
    next = world.answer(world.create(writer, "f.nc", world.alone())).step;
    CHECK(world.is_waiting(world.need(writer, next, mib)));  // b.nc was open
  }

  TEST_CASE("processes that end do not release what they have not read, while their component may restart") {
    World world = restarting(1, little);
    const auto writer = world.process("model");
    for (const char* name : {"a.nc", "b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    const auto reader = world.process("analysis");
    world.registry.disconnect(reader);
    const StepId next = world.answer(world.create(writer, "e.nc", world.alone())).step;
    const auto waits = world.need(writer, next, mib);
    CHECK(world.is_waiting(waits));
    world.registry.component_exited("analysis", "exited with status 0");
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("in its last start a reader releases what it has not read") {
    World world = restarting(1, little);
    const auto writer = world.process("model");
    for (const char* name : {"a.nc", "b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    fail(world, "analysis");
    fail(world, "analysis");
    const auto reader = world.process("analysis");
    const StepId next = world.answer(world.create(writer, "e.nc", world.alone())).step;
    const auto waits = world.need(writer, next, mib);
    CHECK(world.is_waiting(waits));
    world.registry.disconnect(reader);
    CHECK(world.is_granted(waits));
  }

  TEST_CASE("readers go on waiting for a writer that is started again") {
    World world = restarting(1);
    const auto writer = world.process("model");
    const auto reader = world.process("analysis");
    const auto first = world.open(reader, "a.nc", world.alone());
    world.create(writer, "a.nc", world.alone());
    world.registry.disconnect(writer);
    fail(world, "model");
    CHECK(world.is_waiting(first));
    CHECK(world.registry.status().datasets.at(0).steps_lost == 0);
    CHECK(ended_components(world) == 0);
    world.write(world.process("model"), "a.nc", mib);
    CHECK(world.is_opened(first));
    world.close(reader, world.answer(first).step);
    const auto never = world.open(reader, "b.nc", world.alone());
    world.registry.component_exited("model", "exited with status 1");
    CHECK(world.refusal(never) == NC_ENOENT);
    CHECK(ended_components(world) == 1);
  }

  TEST_CASE("a step that its writer loses in its last start is lost") {
    World world = restarting(1);
    for (int i = 0; i < 2; ++i) {
      world.create(world.process("model"), "a.nc", world.alone());
      fail(world, "model");
    }
    world.create(world.process("model"), "a.nc", world.alone());
    world.registry.component_exited("model", "exited with status 1");
    CHECK(world.registry.status().datasets.at(0).steps_lost == 1);
    CHECK(world.registry.status().datasets.at(0).steps_discarded == 3);
  }

  TEST_CASE("processes of the last start are refused when they come late") {
    World world = restarting(1);
    const auto writer = world.process("model");
    const StepId step = world.answer(world.create(writer, "a.nc", world.alone())).step;
    fail(world, "model");
    const auto again = world.process("model");
    const StepId next = world.answer(world.create(again, "a.nc", world.alone())).step;
    CHECK_THROWS_AS(world.publish(writer, step), Error);
    CHECK(world.refusal(world.create(writer, "b.nc", world.alone())) == NC_EINVAL);
    world.publish(again, next);
    CHECK(world.is_opened(world.open(world.process("analysis"), "a.nc", world.alone())));
  }

  TEST_CASE("a file that readers have read, and that a restarted writer writes again, holds up nobody") {
    World world = restarting(1, little);
    auto writer = world.process("model");
    const auto reader = world.process("analysis");
    for (const char* name : {"a.nc", "b.nc", "c.nc"}) {
      world.write(writer, name, mib);
      world.read(reader, name);
    }
    fail(world, "model");
    writer = world.process("model");
    for (const char* name : {"a.nc", "b.nc", "c.nc", "d.nc"}) world.write(writer, name, mib);
    const auto waits = world.open(reader, "e.nc", world.alone());
    const StepId next = world.answer(world.create(writer, "e.nc", world.alone())).step;
    CHECK(world.is_granted(world.need(writer, next, mib)));
    world.publish(writer, next);
    CHECK(world.is_opened(waits));
    CHECK(world.read(reader, "d.nc") != 0);
  }

  TEST_CASE("a name that a writer writes again and again after its restart is needed each time") {
    World world = restarting(1, little);
    world.write(world.process("model"), "a.nc", mib);
    const auto reader = world.process("analysis");
    world.read(reader, "a.nc");
    fail(world, "model");
    const auto writer = world.process("model");
    world.write(writer, "a.nc", mib);
    world.read(reader, "a.nc");
    world.write(writer, "a.nc", 3 * mib);
    const StepId next = world.answer(world.create(writer, "b.nc", world.alone())).step;
    const auto waits = world.need(writer, next, 2 * mib);
    CHECK(world.is_waiting(waits));
    world.read(reader, "a.nc");
    CHECK(world.is_granted(waits));
  }
}
